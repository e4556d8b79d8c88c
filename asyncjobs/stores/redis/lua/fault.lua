-- Lists the dead jobs of a fault by the time they died, and the faults by the time of their last one.
--- @include place
local function fault_place(fault)
  return 'jobs:fault:' .. fault
end

-- Puts a fault to its time, or strikes it out when none of its jobs is left.
local function note_fault(fault)
  local last = redis.call('ZRANGE', prefix .. fault_place(fault), -1, -1, 'WITHSCORES')
  if last[1] then
    redis.call('ZADD', prefix .. 'jobs:faults', last[2], fault)
  else
    redis.call('ZREM', prefix .. 'jobs:faults', fault)
  end
end

local function enter_fault(fault, score, ids)
  if #ids == 0 then return end
  enter(fault_place(fault), score, ids)
  note_fault(fault)
end

local function leave_fault(fault, ids)
  if #ids == 0 then return end
  leave(fault_place(fault), ids)
  note_fault(fault)
end
