-- SCHEDULED → QUEUED for what is due: transitions.promote, written where the jobs are.
--- @include iso
--- @include places
--- @include append
--- @include clock
local function promote_one(id, stamp)
  local key = job_key(id)
  local job = redis.call('HMGET', key, 'Status', 'Version', 'Priority', 'Queue')
  if job[1] ~= '200' then return end
  local entry = append(stream_key(job[4] or 'default', lane_of(job[3])), id)
  redis.call('HSET', key, 'Status', '100', 'LastUpdatedAt', stamp, 'Version', int((tonumber(job[2]) or 1) + 1), 'Entry', entry)
end

local function promote(queue)
  local delayed = sorted_key('delayed', queue)
  local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', int(now()), 'LIMIT', 0, 100)
  if #due == 0 then return end
  local stamp = iso(now())
  for _, id in ipairs(due) do promote_one(id, stamp) end
  redis.call('ZREM', delayed, unpack(due))
end
