-- What a job's hash says of where it is to be.
--- @include lists
local function facts_of(id)
  local job = redis.call('HMGET', job_key(id), 'Status', 'Queue', 'Priority', 'Name', 'Owner', 'Tags', 'Entry', 'Fault')
  return { id = id, status = job[1], queue = job[2] or 'default', priority = job[3], name = job[4], owner = job[5],
    tags = job[6], entry = job[7], fault = job[8] }
end

-- Whether this release knows what to make of it.
local function is_known(job)
  return job.name and (job.status == '100' or PLACES[job.status])
end
