-- Leases ready jobs to a worker, after promoting what is due.
-- ARGV: now or '', worker, limit, lease, queues …
-- Answers the claimed jobs' hashes, in order of claim.
--- @include lease
--- @include iso
--- @include hash
--- @include paused
--- @include promote
--- @include places
--- @include drop_unique
local worker, limit, lease = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local until_ms = tick(lease) + lease
local started, deadline, claimed = iso(now()), iso(until_ms), {}

-- NOACK, because nothing is pending after this script: the entry has become a lease, or was a leftover.
local function read(stream, count)
  local answer = redis.pcall('XREADGROUP', 'GROUP', 'workers', 'claim', 'COUNT', count, 'NOACK', 'STREAMS', stream, '>')
  if answer and answer.err then
    redis.call('XGROUP', 'CREATE', stream, 'workers', '0')
    return read(stream, count)
  end
  return answer and answer[1][2] or {}
end

local function start(id, key, job)
  redis.call('HSET', key, 'Status', '300', 'WorkerId', worker, 'StartedAt', started, 'LastUpdatedAt', started,
    'Version', (job[2] or 1) + 1, 'Attempt', (job[3] or 0) + 1, 'ClaimedUntil', deadline)
  if job[5] == 'pending' then drop_unique(redis.call('HGET', key, 'UniqueKey'), id) end
  claimed[#claimed + 1] = read_job(id)
end

local function take(queue, stream)
  local leases, gone = {}, {}
  for _, entry in ipairs(read(stream, limit - #claimed)) do
    local id = entry[2][2]
    local key = job_key(id)
    local job = redis.call('HMGET', key, 'Status', 'Version', 'Attempt', 'Entry', 'UniqueWhile')
    if job[1] == '100' and job[4] == entry[1] then
      start(id, key, job)
      leases[#leases + 1] = int(until_ms)
      leases[#leases + 1] = id
    end
    gone[#gone + 1] = entry[1]
  end
  if #leases > 0 then redis.call('ZADD', sorted_key('inprogress', queue), unpack(leases)) end
  if #gone > 0 then redis.call('XDEL', stream, unpack(gone)) end
end

for i = 5, #ARGV do
  local queue = ARGV[i]
  if not paused(queue) then
    promote(queue)
    for lane = LANES - 1, 0, -1 do
      local stream = stream_key(queue, lane)
      while #claimed < limit and redis.call('XLEN', stream) > 0 do
        local before = #claimed
        take(queue, stream)
        if #claimed == before then break end
      end
    end
  end
end
return claimed
