-- A job is in one place: the stream of its queue and lane while it is ready, else a sorted set by time.
--- @include append
--- @include list
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
  if not is_stream(place) then return list_all(place, score, ids) end
  for _, id in ipairs(ids) do redis.call('HSET', job_key(id), 'Entry', append(prefix .. place, id)) end
end
