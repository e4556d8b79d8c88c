-- How many jobs each queue has in each place.
-- Answers for each queue: its name, its pause or '', the hash of its oldest ready job, then place, number by turns.
--- @include hash
--- @include places
local function oldest(queue)
  local first
  for lane = 0, LANES - 1 do
    local entry = redis.call('XRANGE', stream_key(queue, lane), '-', '+', 'COUNT', 1)[1]
    if entry then
      local at = tonumber(entry[1]:match('^%d+'))
      if not first or at < first.at then first = { at = at, id = entry[2][2] } end
    end
  end
  return first and read_job(first.id) or ''
end

local function sizes(queue)
  local answer, ready = {}, 0
  for lane = 0, LANES - 1 do ready = ready + redis.call('XLEN', stream_key(queue, lane)) end
  if ready > 0 then answer = { '100', ready } end
  for status, place in pairs(PLACES) do
    local size = redis.call('ZCARD', sorted_key(place, queue))
    if size > 0 then
      answer[#answer + 1] = status
      answer[#answer + 1] = size
    end
  end
  return answer
end

local answer = {}
for _, queue in ipairs(redis.call('SMEMBERS', prefix .. 'queues')) do
  answer[#answer + 1] = { queue, redis.call('HGET', prefix .. 'paused', queue) or '', oldest(queue), sizes(queue) }
end
return answer
