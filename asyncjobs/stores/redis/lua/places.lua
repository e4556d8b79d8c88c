-- Names the places that jobs are in: a stream for each lane of a queue, a sorted set for each other status.
--- @include keys
local PLACES = {
  ['150'] = 'waiting', ['200'] = 'delayed', ['300'] = 'inprogress',
  ['400'] = 'completed', ['500'] = 'dlq', ['600'] = 'canceled',
}
local LANES = 5

local function sorted_key(place, queue)
  return prefix .. 'jobs:' .. place .. ':' .. queue
end

local function stream_key(queue, lane)
  return prefix .. 'jobs:stream:' .. queue .. ':' .. lane
end

local function lane_of(priority)
  return math.min(math.floor(((tonumber(priority) or 0) + 100) / 40), LANES - 1)
end
