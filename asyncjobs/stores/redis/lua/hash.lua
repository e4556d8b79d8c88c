-- A job's hash as one string, its fields and values by turns between NULs, which no value contains.
--- @include keys
local function read_hash(key)
  local stored = redis.call('HGETALL', key)
  return #stored > 0 and table.concat(stored, '\0') or ''
end

local function read_job(id)
  return read_hash(job_key(id))
end
