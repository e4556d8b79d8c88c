-- Keeps an order for the next beats of a worker that was heard from in the last day.
-- ARGV: now or '', worker, order. Answers 1 or 0.
--- @include keys
--- @include clock
local beat_at = tonumber(redis.call('ZSCORE', prefix .. 'workers', ARGV[2]))
if not beat_at or beat_at <= now() - 86400000 then return 0 end
redis.call('HSET', prefix .. 'worker:' .. ARGV[2], 'Order', ARGV[3])
return 1
