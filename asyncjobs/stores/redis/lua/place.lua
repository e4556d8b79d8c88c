-- A job is in one place: the stream of its queue and lane while it is ready, else a sorted set by time.
--- @include append
local function unappend(stream, id)
  local entry = redis.call('HGET', job_key(id), 'Entry')
  if entry then redis.call('XDEL', stream, entry) end
end

local function leave(place, ids)
  if #ids == 0 then return end
  if not is_stream(place) then return redis.call('ZREM', prefix .. place, unpack(ids)) end
  for _, id in ipairs(ids) do unappend(prefix .. place, id) end
end

local function enter(place, score, ids)
  if #ids == 0 then return end
  if is_stream(place) then
    for _, id in ipairs(ids) do redis.call('HSET', job_key(id), 'Entry', append(prefix .. place, id)) end
    return
  end
  local members = {}
  for i, id in ipairs(ids) do
    members[2 * i - 1] = score
    members[2 * i] = id
  end
  redis.call('ZADD', prefix .. place, unpack(members))
end
