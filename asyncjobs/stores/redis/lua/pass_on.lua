-- What a claim leaves to others who wait: ready jobs, and delayed ones that the claimer is no longer back for.
--- @include bell
--- @include places
local function pass_on_ready(queue)
  if redis.call('EXISTS', prefix .. 'bell:' .. queue) == 1 then return end
  for lane = LANES - 1, 0, -1 do
    if redis.call('XLEN', stream_key(queue, lane)) > 0 then return ring(queue) end
  end
end

local function pass_on_timer(queue, me)
  local _, who = timer_of(queue)
  if who ~= me then return end
  redis.call('HDEL', prefix .. 'timers', queue)
  if redis.call('ZCARD', sorted_key('delayed', queue)) > 0 then ring(queue) end
end
