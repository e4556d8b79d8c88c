-- Writes one row of `swap` if the job's version is the one that was read.
--- @include group
--- @include replay
local function write(group, at)
  local key, version, step = job_key(ARGV[at]), ARGV[at + 1], group.facts[6]
  local stored = redis.call('HGET', key, 'Version')
  local fields, size = row_fields(group, at)
  if step > 0 then
    fields[size + 1], fields[size + 2] = 'Version', version + step
  end
  if stored ~= version and not is_first(key, stored, version) then
    return is_replay(key, fields, group.gone) and 'replay' or 'stale'
  end
  redis.call('HSET', key, unpack(fields))
  if #group.gone > 0 then redis.call('HDEL', key, unpack(group.gone)) end
  return 'written'
end
