-- How many delayed jobs of some queues fall due from each of these times on and before the next one.
-- ARGV: how many times, the times, queues … Answers a number for each time but the last.
--- @include places
local spans, answer = ARGV[1] - 1, {}
for span = 1, spans do answer[span] = 0 end

local function count(key)
  for span = 1, spans do
    answer[span] = answer[span] + redis.call('ZCOUNT', key, ARGV[span + 1], '(' .. ARGV[span + 2])
  end
end

for i = spans + 3, #ARGV do
  local key = sorted_key('delayed', ARGV[i])
  if redis.call('EXISTS', key) == 1 then count(key) end
end
return answer
