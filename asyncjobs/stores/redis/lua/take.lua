-- Turns ready entries of a stream into leases: transitions.start, written where the jobs are.
-- A grant: worker, limit, started and deadline (texts), ends (milliseconds), and the jobs granted so far.
--- @include places
--- @include hash
--- @include clock
--- @include drop_unique
-- NOACK, because nothing is pending after this script: an entry has become a lease, or was a leftover.
local function read(stream, count)
  local answer = redis.pcall('XREADGROUP', 'GROUP', 'workers', 'claim', 'COUNT', count, 'NOACK', 'STREAMS', stream, '>')
  if answer and answer.err then
    redis.call('XGROUP', 'CREATE', stream, 'workers', '0')
    return read(stream, count)
  end
  return answer and answer[1][2] or {}
end

local function start(grant, id, key, version, attempt)
  redis.call('HSET', key, 'Status', '300', 'WorkerId', grant.worker, 'StartedAt', grant.started, 'LastUpdatedAt', grant.started,
    'Version', (version or 1) + 1, 'Attempt', (attempt or 0) + 1, 'ClaimedUntil', grant.deadline)
  grant.jobs[#grant.jobs + 1] = read_job(id)
end

local function take(grant, queue, stream)
  local leases, gone = {}, {}
  for i, entry in ipairs(read(stream, grant.limit - #grant.jobs)) do
    local id = entry[2][2]
    local key = job_key(id)
    local job = redis.call('HMGET', key, 'Status', 'Version', 'Attempt', 'Entry', 'UniqueWhile')
    if job[1] == '100' and job[4] == entry[1] then
      local unique = job[5] == 'pending' and redis.call('HGET', key, 'UniqueKey')
      if unique then drop_unique(unique, id) end
      start(grant, id, key, job[2], job[3])
      leases[#leases + 1] = int(grant.ends)
      leases[#leases + 1] = id
    end
    gone[i] = entry[1]
  end
  if #leases > 0 then redis.call('ZADD', sorted_key('inprogress', queue), unpack(leases)) end
  if #gone > 0 then redis.call('XDEL', stream, unpack(gone)) end
end
