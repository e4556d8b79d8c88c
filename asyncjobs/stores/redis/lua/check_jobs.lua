-- Which of these jobs are not in the places and indexes that their hashes name.
-- ARGV: now or '', ids … Answers (id, what is wrong) by turns.
--- @include whereabouts
local answer = {}

local function wrong(id)
  local job = redis.call('HMGET', job_key(id), 'Status', 'Queue', 'Priority', 'Name', 'Owner', 'Tags', 'Entry', 'Fault')
  local queue = job[2] or 'default'
  if redis.call('EXISTS', job_key(id)) == 0 then return nil end
  if not job[4] or not (job[1] == '100' or PLACES[job[1]]) then return 'UNREADABLE' end
  local place = place_of(job[1], queue, job[3])
  if not is_in(place, id, job[7]) then return 'MISPLACED' end
  if elsewhere(place, queue, id) then return 'TWO_PLACES' end
  if not is_indexed(id, queue, job) then return 'NOT_INDEXED' end
end

for i = 2, #ARGV do
  local found = wrong(ARGV[i])
  if found then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = found
  end
end
return answer
