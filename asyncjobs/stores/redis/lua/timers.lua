-- Who of those who wait is back when, for the sake of delayed jobs: `when:who` for a queue, in the hash `timers`.
--- @include keys
--- @include clock
local function timer_of(queue)
  local back, who = (redis.call('HGET', prefix .. 'timers', queue) or ''):match('^(%d+):(.+)$')
  return tonumber(back), who
end

-- Whether another one is back by then. A timer in the past was left behind by somebody who is gone.
local function is_awaited(queue, due, me)
  local back, who = timer_of(queue)
  return back and now() < back and back <= due and who ~= me
end
