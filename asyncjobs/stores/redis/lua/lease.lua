-- The clock by which leases run out: domain/lease.py `tick`, kept in the hash `clock`.
--- @include keys
--- @include clock
local function tick(lease)
  local key = prefix .. 'clock'
  local stored = redis.call('HMGET', key, 'last', 'offset', 'grace')
  local last, offset, grace = tonumber(stored[1]) or now, tonumber(stored[2]) or 0, tonumber(stored[3]) or 0
  if last - now > 1000 then offset = offset + last - now end
  if now - last > lease / 2 then grace = now + offset + lease end
  redis.call('HSET', key, 'last', int(now), 'offset', int(offset), 'grace', int(grace))
  return now + offset, grace
end
