-- Enters new jobs into the indexes by creation.
--- @include list
local function index_all(group)
  for i = 6, #group.facts do list_all(group.facts[i], group.facts[4], group.ids) end
  if redis.call('ZCARD', prefix .. group.facts[6]) == #group.ids then
    redis.call('SADD', prefix .. 'jobs:indexes', group.facts[6])
    redis.call('SADD', prefix .. 'queues', group.facts[3])
  end
end
