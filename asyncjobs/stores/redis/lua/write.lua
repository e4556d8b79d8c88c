-- Writes one row of `swap` if the job is the one that was read: in that version, and where it was then.
--- @include group
--- @include replay
local function is_same(group, stored, version)
  local facts = group.facts
  return (stored[1] or '1') == version and stored[2] == facts[10] and (stored[3] or 'default') == facts[5]
    and (stored[4] or '0') == facts[11]
end

local function write(group, at)
  local key, version, step = job_key(ARGV[at]), ARGV[at + 1], group.facts[6]
  local stored = redis.call('HMGET', key, 'Version', 'Status', 'Queue', 'Priority')
  local fields, size = row_fields(group, at)
  if step > 0 then
    fields[size + 1], fields[size + 2] = 'Version', version + step
  end
  if not is_same(group, stored, version) then
    return stored[2] and is_replay(key, fields, group.gone) and 'replay' or 'stale'
  end
  if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
  if #group.gone > 0 then redis.call('HDEL', key, unpack(group.gone)) end
  return 'written'
end
