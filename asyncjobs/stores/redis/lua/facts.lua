-- What a job's hash says of it, and which lists that puts it into.
--- @include places
-- Nothing if they cannot be read: if they are no list of texts.
local function read_tags(text)
  local _, tags = pcall(cjson.decode, text or '[]')
  if type(tags) == 'table' and (tags[1] or not next(tags)) and pcall(table.concat, tags) then return tags end
end

local function facts_of(id)
  local job = redis.call('HMGET', job_key(id), 'Status', 'Queue', 'Priority', 'Name', 'Owner', 'Tags', 'Entry', 'Fault',
    'UniqueKey')
  return { id = id, status = job[1], queue = job[2] or 'default', priority = job[3], name = job[4], owner = job[5],
    tags = read_tags(job[6]), entry = job[7], fault = job[8], unique = job[9] }
end

-- Whether this release knows what to make of it.
local function is_known(job)
  return job.name and (job.status == '100' or PLACES[job.status])
end

local function place_of(job)
  if job.status == '100' then return 'jobs:stream:' .. job.queue .. ':' .. lane_of(job.priority) end
  return 'jobs:' .. PLACES[job.status] .. ':' .. job.queue
end

-- As far as its tags can be read: no job is to be in the way of its own removal.
local function indexes_of(job)
  local indexes = { 'jobs:index:' .. job.queue .. ':' .. job.name }
  if job.owner then indexes[2] = 'jobs:owner:' .. job.owner end
  for _, tag in ipairs(job.tags or {}) do indexes[#indexes + 1] = 'jobs:tag:' .. tag end
  return indexes
end
