-- The clock by which leases run out: domain/lease.py `tick`, kept in the hash `clock`.
--- @include keys
--- @include clock
local function tick(lease)
  local key = prefix .. 'clock'
  local stored = redis.call('HMGET', key, 'last', 'offset', 'grace')
  local time = now()
  local last, offset, grace = tonumber(stored[1]) or time, tonumber(stored[2]) or 0, tonumber(stored[3]) or 0
  if last - time > 1000 then offset = offset + last - time end
  if time - last > lease / 2 then grace = time + offset + lease end
  redis.call('HSET', key, 'last', int(time), 'offset', int(offset), 'grace', int(grace))
  return time + offset, grace
end
