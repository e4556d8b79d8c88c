-- Jobs whose lease has run out, longest ago first; none while the clock is in grace.
-- ARGV: now or '', lease, limit. Answers hashes.
--- @include lease
--- @include hash
--- @include places
local limit = tonumber(ARGV[3])
local time, grace = tick(tonumber(ARGV[2]))
if time < grace then return {} end

local over = {}
for _, queue in ipairs(redis.call('SMEMBERS', prefix .. 'queues')) do
  local leases = redis.call('ZRANGEBYSCORE', sorted_key('inprogress', queue), '-inf', int(time), 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #leases, 2 do over[#over + 1] = { id = leases[i], ended = tonumber(leases[i + 1]) } end
end
table.sort(over, function(a, b) return a.ended < b.ended end)

local jobs = {}
for i = 1, math.min(limit, #over) do
  local job = read_job(over[i].id)
  if job ~= '' then jobs[#jobs + 1] = job end
end
return jobs
