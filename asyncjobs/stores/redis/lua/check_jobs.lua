-- Which of these jobs are not in the places and indexes that their hashes name.
-- ARGV: now or '', ids … Answers (id, what is wrong) by turns.
--- @include whereabouts
local answer = {}

local function wrong(id)
  local job = facts_of(id)
  if redis.call('EXISTS', job_key(id)) == 0 then return nil end
  if not is_known(job) then return 'UNREADABLE' end
  local place = place_of(job)
  if not is_in(place, job) then return 'MISPLACED' end
  if elsewhere(place, job.queue, id) then return 'TWO_PLACES' end
  if job.fault and job.status ~= '500' then return 'FAULT_ASTRAY' end
  if not is_indexed(job) then return 'NOT_INDEXED' end
end

for i = 2, #ARGV do
  local found = wrong(ARGV[i])
  if found then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = found
  end
end
return answer
