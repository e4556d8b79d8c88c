-- Wakes one of those who wait for a queue. Its bell is a list that holds one token at most: whoever takes it, and leaves
-- something for others, rings again.
--- @include append
--- @include timers
local wakes = {}

local function ring(queue)
  local bell = prefix .. 'bell:' .. queue
  if redis.call('EXISTS', bell) == 0 then redis.call('RPUSH', bell, '1') end
end

-- Notes that a job has come to this place, for `ring_all` at the end of the script.
local function wake(place, queue, score)
  local at = is_stream(place) and 0 or place == 'jobs:delayed:' .. queue and tonumber(score)
  if at and at < (wakes[queue] or math.huge) then wakes[queue] = at end
end

local function ring_all()
  for queue, at in pairs(wakes) do
    if at == 0 or not is_awaited(queue, at) then ring(queue) end
  end
end
