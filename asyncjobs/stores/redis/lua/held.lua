-- Those of these jobs that a worker holds.
-- ARGV: worker, ids … Answers hashes.
--- @include hash
local jobs = {}
for i = 2, #ARGV do
  local job = redis.call('HMGET', job_key(ARGV[i]), 'Status', 'WorkerId')
  if job[1] == '300' and job[2] == ARGV[1] then jobs[#jobs + 1] = read_job(ARGV[i]) end
end
return jobs
