-- Extends the leases a worker still holds, and records that it lives.
-- ARGV: now or '', worker, lease, what the worker says of itself, (id, version) …
-- Answers the ids that are lost, those asked to cancel, and what was ordered of the worker.
--- @include lease
--- @include iso
--- @include places
local worker, lease = ARGV[2], tonumber(ARGV[3])
local until_ms = tick(lease) + lease
local deadline, lost, cancels = iso(until_ms), {}, {}

local function is_held(job, version)
  return job[1] == '300' and job[2] == worker and (job[3] or '1') == version
end

for i = 5, #ARGV, 2 do
  local id = ARGV[i]
  local job = redis.call('HMGET', job_key(id), 'Status', 'WorkerId', 'Version', 'Queue', 'CancelRequested')
  if is_held(job, ARGV[i + 1]) then
    redis.call('HSET', job_key(id), 'ClaimedUntil', deadline)
    redis.call('ZADD', sorted_key('inprogress', job[4] or 'default'), int(until_ms), id)
    if job[5] then cancels[#cancels + 1] = id end
  else
    lost[#lost + 1] = id
  end
end

redis.call('HSET', prefix .. 'worker:' .. worker, 'About', ARGV[4], 'BeatAt', int(now()))
redis.call('ZADD', prefix .. 'workers', int(now()), worker)
for _, silent in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'workers', '-inf', int(now() - 86400000), 'LIMIT', 0, 10)) do
  redis.call('DEL', prefix .. 'worker:' .. silent)
  redis.call('ZREM', prefix .. 'workers', silent)
end
return { lost, cancels, redis.call('HGET', prefix .. 'worker:' .. worker, 'Order') or '' }
