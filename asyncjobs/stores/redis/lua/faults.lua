-- What is known of some faults, the one that struck last first.
-- ARGV: how many to pass over, how many to answer, the beginnings of days, oldest first.
-- Answers for each: the fault, its newest job, the times of its first and last one, how many there are, and how many since the
-- beginning of each day.
--- @include fault
local function look_at(fault)
  local key = prefix .. fault_place(fault)
  local first, last = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES'), redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local seen = { fault, last[1] or '', first[2] or '', last[2] or '', redis.call('ZCARD', key) }
  for i = 3, #ARGV do seen[#seen + 1] = redis.call('ZCOUNT', key, ARGV[i], '+inf') end
  return seen
end

local answer, first = {}, tonumber(ARGV[1])
for _, fault in ipairs(redis.call('ZREVRANGE', prefix .. 'jobs:faults', first, first + ARGV[2] - 1)) do
  local seen = look_at(fault)
  if seen[5] > 0 then answer[#answer + 1] = seen end
end
return answer
