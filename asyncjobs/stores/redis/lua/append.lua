-- Puts a ready job at the end of its stream.
--- @include keys
local function is_stream(place)
  return place:sub(1, 12) == 'jobs:stream:'
end

-- Returns the entry's id, which the job's hash must hold while the job is ready: it is the only way out again.
local function append(stream, id)
  return redis.call('XADD', stream, '*', 'j', id)
end
