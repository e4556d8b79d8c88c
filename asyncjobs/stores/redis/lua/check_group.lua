-- Whether a ready stream has entries that its group has passed over, so that no worker would get them.
-- ARGV: now or '', stream, 'fix' or ''. Answers 1 or 0; with 'fix' the group starts over.
--- @include keys
local stream = prefix .. ARGV[2]
local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
if not first then return 0 end

local function parts(id)
  local ms, sequence = id:match('^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end

for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local delivered
  for i = 1, #group, 2 do
    if group[i] == 'last-delivered-id' then delivered = group[i + 1] end
  end
  local ms, sequence = parts(first[1])
  local last_ms, last_sequence = parts(delivered)
  if last_ms > ms or (last_ms == ms and last_sequence >= sequence) then
    if ARGV[3] == 'fix' then redis.call('XGROUP', 'SETID', stream, 'workers', '0') end
    return 1
  end
end
return 0
