-- Which of these faults are not listed at the time of their last job, or have none left.
-- ARGV: now or '', 'fix' or '', faults … Answers faults; with 'fix' they are put right.
--- @include fault
local answer = {}
for i = 3, #ARGV do
  local fault = ARGV[i]
  local listed = redis.call('ZSCORE', prefix .. 'jobs:faults', fault)
  local last = redis.call('ZRANGE', prefix .. fault_place(fault), -1, -1, 'WITHSCORES')[2]
  if listed and listed ~= last then
    answer[#answer + 1] = fault
    if ARGV[2] == 'fix' then note_fault(fault) end
  end
end
return answer
