-- A job's hash as one string, its fields and values by turns between NULs, which no value contains.
--- @include keys
local function read_job(id)
  local stored = redis.call('HGETALL', job_key(id))
  return #stored > 0 and table.concat(stored, '\0') or ''
end
