-- Removes finished jobs, the oldest of each queue first.
-- ARGV: now or '', limit, (status, time before which they ended) … Answers how many.
--- @include forget
local left = tonumber(ARGV[2])

local function prune(status, queue, before)
  local key = sorted_key(PLACES[status], queue)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. before, 'LIMIT', 0, left)) do
    if redis.call('HGET', job_key(id), 'Status') == status then forget(id) else redis.call('ZREM', key, id) end
    left = left - 1
  end
end

for _, queue in ipairs(redis.call('SMEMBERS', prefix .. 'queues')) do
  for i = 3, #ARGV, 2 do
    if left > 0 then prune(ARGV[i], queue, ARGV[i + 1]) end
  end
end
return tonumber(ARGV[2]) - left
