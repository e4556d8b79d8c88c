-- The hashes of these jobs, an empty list for one that is not there.
-- ARGV: ids …
--- @include keys
local jobs = {}
for i, id in ipairs(ARGV) do jobs[i] = redis.call('HGETALL', job_key(id)) end
return jobs
