-- Puts a job back into its place and its indexes, if its version is still the one that was read.
-- ARGV: now or '', id, version, place, score, created, queue, indexes … Answers 1, or 0 when it has changed.
--- @include whereabouts
--- @include bell
local id, version, place, score, created, queue = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if redis.call('EXISTS', job_key(id)) == 0 or (redis.call('HGET', job_key(id), 'Version') or '1') ~= version then return 0 end
local job = facts_of(id)

for _, other in pairs(PLACES) do
  if 'jobs:' .. other .. ':' .. queue ~= place then redis.call('ZREM', sorted_key(other, queue), id) end
end
-- Who beats meanwhile leaves the version, and has put the job to its time.
if not is_in(place, job) then
  leave(place, { id })
  enter(place, score, { id })
end
wake(place, queue, score)
ring_all()
redis.call('SADD', prefix .. 'queues', queue)
redis.call('SADD', prefix .. 'jobs:indexes', ARGV[8])
if job.fault and job.status == '500' then
  enter_fault(job.fault, score, { id })
elseif job.fault then
  redis.call('HDEL', job_key(id), 'Fault')
  leave_fault(job.fault, { id })
end
for i = 8, #ARGV do redis.call('ZADD', prefix .. ARGV[i], created, id) end
return 1
