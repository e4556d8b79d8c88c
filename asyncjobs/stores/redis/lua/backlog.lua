-- How many jobs of a queue have not started, and which queue would hold more than its limit.
--- @include places
local function waiting(queue)
  local total = redis.call('ZCARD', sorted_key('delayed', queue)) + redis.call('ZCARD', sorted_key('waiting', queue))
  for lane = 0, LANES - 1 do total = total + redis.call('XLEN', stream_key(queue, lane)) end
  return total
end

local function overfull(limits, adding)
  for i = 1, #limits, 2 do
    local more = adding[limits[i]] or 0
    if more > 0 and waiting(limits[i]) + more > tonumber(limits[i + 1]) then return limits[i] end
  end
end
