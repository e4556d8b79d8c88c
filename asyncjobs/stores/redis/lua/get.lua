-- The hashes of these jobs, an empty string for one that is not there.
-- ARGV: ids …
--- @include hash
local jobs = {}
for i, id in ipairs(ARGV) do jobs[i] = read_job(id) end
return jobs
