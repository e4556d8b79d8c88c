-- Which of these jobs are not in the places and indexes that their hashes name.
-- ARGV: now or '', ids … Answers (id, what is wrong) by turns.
--- @include forget
local answer = {}

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

local function is_indexed(id, queue, job)
  for _, index in ipairs(indexes_of(queue, job[4], job[5], job[6])) do
    if not redis.call('ZSCORE', prefix .. index, id) then return false end
  end
  return redis.call('SISMEMBER', prefix .. 'queues', queue) == 1
    and redis.call('SISMEMBER', prefix .. 'jobs:indexes', 'jobs:index:' .. queue .. ':' .. job[4]) == 1
end

local function wrong(id)
  local job = redis.call('HMGET', job_key(id), 'Status', 'Queue', 'Priority', 'Name', 'Owner', 'Tags', 'Entry')
  local queue = job[2] or 'default'
  if redis.call('EXISTS', job_key(id)) == 0 then return nil end
  if not job[4] or not (job[1] == '100' or PLACES[job[1]]) then return 'UNREADABLE' end
  local place = place_of(job[1], queue, job[3])
  if not is_in(place, id, job[7]) then return 'MISPLACED' end
  if elsewhere(place, queue, id) then return 'TWO_PLACES' end
  if not is_indexed(id, queue, job) then return 'NOT_INDEXED' end
end

for i = 2, #ARGV do
  local found = wrong(ARGV[i])
  if found then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = found
  end
end
return answer
