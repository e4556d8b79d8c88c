-- Leases ready jobs to a worker, after promoting what is due.
-- ARGV: now or '', worker, limit, lease, who (as in `watch`), queues …
-- Answers the claimed jobs' hashes, in order of claim.
--- @include lease
--- @include iso
--- @include paused
--- @include promote
--- @include take
--- @include pass_on
local lease = tonumber(ARGV[4])
local ends = tick(lease) + lease
local grant = { worker = ARGV[2], limit = tonumber(ARGV[3]), started = iso(now()), deadline = iso(ends), ends = ends, jobs = {} }

-- Goes on while there is room and something to take: of a stretch with leftovers in it, less is taken than was asked for.
local function drain(queue, stream)
  local before = -1
  while #grant.jobs < grant.limit and #grant.jobs > before and redis.call('XLEN', stream) > 0 do
    before = #grant.jobs
    take(grant, queue, stream)
  end
end

for i = 6, #ARGV do
  local queue = ARGV[i]
  if not paused(queue) then
    promote(queue)
    for lane = LANES - 1, 0, -1 do drain(queue, stream_key(queue, lane)) end
    if #grant.jobs >= grant.limit then pass_on_ready(queue) end
  end
end
for i = 6, #grant.jobs > 0 and #ARGV or 0 do pass_on_timer(ARGV[i], ARGV[5]) end
return grant.jobs
