-- Gives one of all who ask the turn, and the next that long after it; or at once when the clock was set back further.
-- ARGV: now or '', name, milliseconds. Answers 1 or 0.
--- @include keys
--- @include clock
local key, every = prefix .. 'turn:' .. ARGV[2], tonumber(ARGV[3])
local left = (tonumber(redis.call('GET', key)) or now()) - now()
if left > 0 and left <= every then return 0 end
redis.call('SET', key, int(now() + every))
return 1
