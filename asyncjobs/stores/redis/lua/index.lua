-- Writes the jobs of one group of `add`, with their place, their indexes and their unique keys.
--- @include unique
--- @include append
--- @include group
local function own_position(group, name)
  for i, field in ipairs(group.own) do
    if field == name then return i + 1 end
  end
end

local function unique_of(group, at)
  group.unique = group.unique or own_position(group, 'UniqueKey') or 0
  if group.unique > 0 then return ARGV[at + group.unique] end
end

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

local function store_group(group)
  if #group.ids == 0 then return end
  local place, score, limit = group.facts[1], group.facts[2], group.facts[5]
  for i, at in ipairs(group.rows) do
    local id = group.ids[i]
    local fields, size = row_fields(group, at)
    fields[size + 1], fields[size + 2] = 'Id', id
    if is_stream(place) then fields[size + 3], fields[size + 4] = 'Entry', append(prefix .. place, id) end
    redis.call('HSET', job_key(id), unpack(fields))
    local key = unique_of(group, at)
    if key then take_unique(key, id, limit) end
  end
  if not is_stream(place) then list_all(place, score, group.ids) end
  index_all(group)
end
