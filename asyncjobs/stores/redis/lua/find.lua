-- The entries of one sorted set on one side of a cursor, in order of (score, id).
-- ARGV: set, 'up' or 'down', score and id of the cursor ('' and '' to begin), lowest and highest score, count.
-- Answers id, score by turns.
--- @include keys
local key, up = prefix .. ARGV[1], ARGV[2] == 'up'
local score, id, count = ARGV[3], ARGV[4], tonumber(ARGV[7])

-- The rank of the first entry that is not before (score, id): many entries can share a score.
local function rank_of()
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] < id then low = middle + 1 else high = middle end
  end
  return low
end

local first = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[5])
local last = redis.call('ZCOUNT', key, '-inf', ARGV[6]) - 1
if score ~= '' then
  local rank = rank_of()
  if up then
    local at_cursor = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
    local is_cursor = at_cursor[1] == id and tonumber(at_cursor[2]) == tonumber(score)
    first = math.max(first, is_cursor and rank + 1 or rank)
  else
    last = math.min(last, rank - 1)
  end
end
if first > last then return {} end
if up then return redis.call('ZRANGE', key, first, math.min(last, first + count - 1), 'WITHSCORES') end
return redis.call('ZREVRANGE', key, redis.call('ZCARD', key) - 1 - last,
  redis.call('ZCARD', key) - 1 - math.max(first, last - count + 1), 'WITHSCORES')
