-- Whether a job is where its hash says, and nowhere else.
--- @include forget
local function is_in(place, id, entry)
  if not is_stream(place) then return redis.call('ZSCORE', prefix .. place, id) end
  local found = entry and redis.call('XRANGE', prefix .. place, entry, entry)[1]
  return found and found[2][2] == id
end

local function elsewhere(place, queue, id)
  for _, other in pairs(PLACES) do
    local name = 'jobs:' .. other .. ':' .. queue
    if name ~= place and redis.call('ZSCORE', prefix .. name, id) then return true end
  end
end

local function is_listed(fault, id)
  return redis.call('ZSCORE', prefix .. fault_place(fault), id) and redis.call('ZSCORE', prefix .. 'jobs:faults', fault)
end

local function is_indexed(id, queue, job)
  for _, index in ipairs(indexes_of(queue, job[4], job[5], job[6])) do
    if not redis.call('ZSCORE', prefix .. index, id) then return false end
  end
  if job[8] and not is_listed(job[8], id) then return false end
  return redis.call('SISMEMBER', prefix .. 'queues', queue) == 1
    and redis.call('SISMEMBER', prefix .. 'jobs:indexes', 'jobs:index:' .. queue .. ':' .. job[4]) == 1
end
