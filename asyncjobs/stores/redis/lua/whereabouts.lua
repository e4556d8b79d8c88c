-- Whether a job is where its hash says, by the time in it, and nowhere else.
--- @include facts
--- @include fault
--- @include iso
local TIMES = {
  ['150'] = 'CreatedAt', ['200'] = 'RetryDelayUntil', ['300'] = 'ClaimedUntil',
  ['400'] = 'CompletedAt', ['500'] = 'CompletedAt', ['600'] = 'CompletedAt',
}

-- Whether a job is in a sorted set by this time of its hash; a time that others wrote in their way will do.
local function is_at(set, id, field)
  local score, time = tonumber(redis.call('ZSCORE', prefix .. set, id)), redis.call('HGET', job_key(id), field)
  return score and not (time and time:sub(-10) == '0000+00:00' and time ~= iso(score))
end

local function is_in(place, job)
  if not is_stream(place) then return is_at(place, job.id, TIMES[job.status]) end
  local found = job.entry and redis.call('XRANGE', prefix .. place, job.entry, job.entry)[1]
  return found and found[2][2] == job.id
end

local function elsewhere(place, queue, id)
  for _, other in pairs(PLACES) do
    local name = 'jobs:' .. other .. ':' .. queue
    if name ~= place and redis.call('ZSCORE', prefix .. name, id) then return true end
  end
end

local function is_listed(fault, id)
  return is_at(fault_place(fault), id, 'CompletedAt') and redis.call('ZSCORE', prefix .. 'jobs:faults', fault)
end

local function is_indexed(job)
  for _, index in ipairs(indexes_of(job)) do
    if not is_at(index, job.id, 'CreatedAt') then return false end
  end
  if job.fault and not is_listed(job.fault, job.id) then return false end
  return redis.call('SISMEMBER', prefix .. 'queues', job.queue) == 1
    and redis.call('SISMEMBER', prefix .. 'jobs:indexes', 'jobs:index:' .. job.queue .. ':' .. job.name) == 1
end
