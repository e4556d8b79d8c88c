-- Which stretch of a sorted set lies within scores and on one side of a cursor, by rank.
--- @include keys
-- The rank of the first entry that is not before (score, id): many entries can share a score.
local function rank_of(key, score, id)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] < id then low = middle + 1 else high = middle end
  end
  return low
end

local function is_at(key, rank, score, id)
  local entry = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
  return entry[1] == id and tonumber(entry[2]) == tonumber(score)
end

local function open(key, up, score, id, lowest, highest)
  local size = redis.call('ZCARD', key)
  local first = lowest == '-inf' and 0 or redis.call('ZCOUNT', key, '-inf', '(' .. lowest)
  local last = (highest == '+inf' and size or redis.call('ZCOUNT', key, '-inf', highest)) - 1
  if score ~= '' then
    local rank = rank_of(key, score, id)
    if up and is_at(key, rank, score, id) then rank = rank + 1 end
    if up then first = math.max(first, rank) else last = math.min(last, rank - 1) end
  end
  return { key = key, size = size, first = first, last = last, items = {}, at = -1 }
end
