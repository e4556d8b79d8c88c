-- Enters new jobs into lists by time: their place, and the indexes by creation.
--- @include keys
local function list_all(key, score, ids)
  if #ids == 1 then return redis.call('ZADD', prefix .. key, score, ids[1]) end
  local members = {}
  for i, id in ipairs(ids) do
    members[2 * i - 1] = score
    members[2 * i] = id
  end
  redis.call('ZADD', prefix .. key, unpack(members))
end

local function index_all(group)
  for i = 6, #group.facts do list_all(group.facts[i], group.facts[4], group.ids) end
  if redis.call('ZCARD', prefix .. group.facts[6]) == #group.ids then
    redis.call('SADD', prefix .. 'jobs:indexes', group.facts[6])
    redis.call('SADD', prefix .. 'queues', group.facts[3])
  end
end
