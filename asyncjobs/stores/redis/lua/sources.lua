-- A sorted set read a few entries at a time, upwards or downwards.
--- @include ranks
local up = ARGV[1] == 'up'
local STEP = 10

local function refill(source)
  local first, last = source.first, source.last
  if first > last then return end
  if up then
    last = math.min(last, first + STEP - 1)
    source.items, source.first = redis.call('ZRANGE', source.key, first, last, 'WITHSCORES'), last + 1
  else
    first = math.max(first, last - STEP + 1)
    local top = source.size - 1
    source.items, source.last = redis.call('ZREVRANGE', source.key, top - last, top - first, 'WITHSCORES'), first - 1
  end
  source.at = 1
end

-- Moves to the next entry; a source that is at its end has no id.
local function advance(source)
  source.at = source.at + 2
  if source.at > #source.items then source.items = {}; refill(source) end
  source.id, source.score = source.items[source.at], tonumber(source.items[source.at + 1])
end

local function is_before(one, other)
  if one.score ~= other.score then return (one.score < other.score) == up end
  return (one.id < other.id) == up
end
