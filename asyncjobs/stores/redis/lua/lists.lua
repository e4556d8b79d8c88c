-- Names the lists that a job's hash puts it into.
--- @include places
local function place_of(status, queue, priority)
  if status == '100' then return 'jobs:stream:' .. queue .. ':' .. lane_of(priority) end
  return 'jobs:' .. PLACES[status] .. ':' .. queue
end

-- None if they cannot be read: no job is to be in the way of its own removal.
local function tags_of(text)
  local _, tags = pcall(cjson.decode, text or '[]')
  return type(tags) == 'table' and tags or {}
end

local function indexes_of(queue, name, owner, tags)
  local indexes = { 'jobs:index:' .. queue .. ':' .. name }
  if owner then indexes[2] = 'jobs:owner:' .. owner end
  for _, tag in ipairs(tags_of(tags)) do indexes[#indexes + 1] = 'jobs:tag:' .. tag end
  return indexes
end
