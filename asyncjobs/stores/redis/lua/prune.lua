-- Removes finished jobs, the oldest of each queue first, then those that ran out of the trash.
-- ARGV: now or '', limit, (status, time before which they ended) … Answers how many.
--- @include forget
--- @include trash
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
for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'trash', '-inf', int(now()), 'LIMIT', 0, left)) do
  drop_resting(id)
  left = left - 1
end
return tonumber(ARGV[2]) - left
