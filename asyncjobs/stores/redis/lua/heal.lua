-- Puts a job back into its place and its indexes, if its version is still the one that was read.
-- ARGV: now or '', id, version, place, score, created, queue, indexes … Answers 1, or 0 when it has changed.
--- @include forget
--- @include bell
local id, version, place, score, created, queue = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local stored = redis.call('HMGET', job_key(id), 'Version', 'Status', 'Fault')
if not stored[2] or (stored[1] or '1') ~= version then return 0 end

for _, other in pairs(PLACES) do
  if 'jobs:' .. other .. ':' .. queue ~= place then redis.call('ZREM', sorted_key(other, queue), id) end
end
if is_stream(place) then
  unappend(prefix .. place, id)
  enter(place, score, { id })
elseif not redis.call('ZSCORE', prefix .. place, id) then
  enter(place, score, { id })
end
wake(place, queue, score)
ring_all()
redis.call('SADD', prefix .. 'queues', queue)
redis.call('SADD', prefix .. 'jobs:indexes', ARGV[8])
if stored[3] then enter_fault(stored[3], score, { id }) end
for i = 8, #ARGV do redis.call('ZADD', prefix .. ARGV[i], created, id) end
return 1
