-- Counts jobs that ended, per minute. These keys expire: they are figures, not jobs.
--- @include keys
--- @include clock
local function count_ended(status, queue, amount)
  if amount == 0 then return end
  local key = prefix .. 'series:' .. int(math.floor(now() / 60000))
  redis.call('HINCRBY', key, status .. ':' .. queue, amount)
  redis.call('EXPIRE', key, 90000)
end
