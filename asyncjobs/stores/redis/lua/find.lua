-- The entries of several sorted sets on one side of a cursor, merged in order of (score, id).
-- ARGV: 'up' or 'down', score and id of the cursor ('' and '' to begin), lowest and highest score, count, sets …
-- Answers id, score by turns.
--- @include ranks
local up, count = ARGV[1] == 'up', tonumber(ARGV[6])
local STEP = 10

local function refill(source)
  local first, last = source.first, source.last
  if first > last then return end
  if up then
    last = math.min(last, first + STEP - 1)
    source.items, source.first = redis.call('ZRANGE', source.key, first, last, 'WITHSCORES'), last + 1
  else
    first = math.max(first, last - STEP + 1)
    source.items, source.last = redis.call('ZREVRANGE', source.key, source.size - 1 - last, source.size - 1 - first, 'WITHSCORES'), first - 1
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

local sources = {}
for i = 7, #ARGV do
  local source = open(prefix .. ARGV[i], up, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
  advance(source)
  if source.id then sources[#sources + 1] = source end
end

local answer = {}
while #answer < 2 * count do
  local best
  for _, source in ipairs(sources) do
    if source.id and (not best or is_before(source, best)) then best = source end
  end
  if not best then break end
  answer[#answer + 1] = best.id
  answer[#answer + 1] = best.items[best.at + 1]
  advance(best)
end
return answer
