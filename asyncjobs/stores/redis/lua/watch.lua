-- What one who is about to wait must know. He takes the timer of each queue whose next delayed job nobody else is back for.
-- ARGV: now or '', who, the longest wait, queues …
-- Answers for how many milliseconds to wait, 0 when a job may be ready, and the queues that are paused.
--- @include paused
--- @include places
--- @include timers
local me, back, taken, answer = ARGV[2], now() + tonumber(ARGV[3]), {}, { 0 }

local function is_ready(queue)
  for lane = 0, LANES - 1 do
    if redis.call('XLEN', stream_key(queue, lane)) > 0 then return true end
  end
end

local function look_ahead(queue)
  local due = tonumber(redis.call('ZRANGE', sorted_key('delayed', queue), 0, 0, 'WITHSCORES')[2])
  if not due or is_awaited(queue, due, me) then return end
  back = math.min(back, due)
  taken[#taken + 1] = queue
end

for i = 4, #ARGV do
  local is_paused, ends = paused(ARGV[i])
  if is_paused then
    answer[#answer + 1] = ARGV[i]
    back = math.min(back, ends or back)
  elseif is_ready(ARGV[i]) then
    return { 0 }
  else
    look_ahead(ARGV[i])
  end
end

for _, queue in ipairs(taken) do redis.call('HSET', prefix .. 'timers', queue, int(back) .. ':' .. me) end
answer[1] = math.max(0, back - now())
return answer
