-- Writes the jobs of one group of `add`, with their place, their indexes and their unique keys.
--- @include unique
--- @include append
--- @include bell
--- @include group_unique
--- @include index
--- @include fault
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
  local fault = place:sub(1, 9) == 'jobs:dlq:' and redis.call('HGET', job_key(group.ids[1]), 'Fault')
  if fault then enter_fault(fault, score, group.ids) end
  index_all(group)
  wake(place, group.facts[3], score)
end
