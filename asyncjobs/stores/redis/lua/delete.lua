-- Removes jobs, each if its version is still the one that was read: for good, or to rest in the trash.
-- ARGV: now or '', until when they rest or '', a note on those that do (4, as in `note`), (id, version) …
-- Answers '1' (gone now) or '0' (stale) for each, in one string.
--- @include forget
--- @include note
--- @include trash
local ends = ARGV[2]

local function remove(id)
  if ends == '' then return forget(id) end
  append_note(id, 3)
  uproot(id)
  rest(id, ends)
end

local answer = {}
for i = 7, #ARGV, 2 do
  local stored = redis.call('HMGET', job_key(ARGV[i]), 'Version', 'Status')
  local same = (stored[1] or '1') == ARGV[i + 1]
  if stored[2] and same then remove(ARGV[i]) end
  answer[#answer + 1] = (same or not stored[2]) and '1' or '0'
end
return table.concat(answer)
