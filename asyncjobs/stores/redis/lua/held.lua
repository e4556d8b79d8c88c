-- The jobs of one stretch of a queue's running jobs that a worker holds.
-- ARGV: worker, queue, first rank, last rank. Answers how many were looked at, then hashes.
--- @include hash
--- @include places
local ids = redis.call('ZRANGE', sorted_key('inprogress', ARGV[2]), ARGV[3], ARGV[4])
local answer = { #ids }
for _, id in ipairs(ids) do
  if redis.call('HGET', job_key(id), 'WorkerId') == ARGV[1] then
    answer[#answer + 1] = read_job(id)
  end
end
return answer
