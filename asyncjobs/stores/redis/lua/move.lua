-- Follows the jobs of one group of `swap` that were written: to their place, their unique key, their fault, the figures.
--- @include drop_unique
--- @include bell
--- @include fault
--- @include series
local function move(group, ids)
  local from, to, score, status, queue, _, drop, take, limit, _, _, fault_left, fault = unpack(group.facts)
  if from ~= '' then
    leave(from, ids)
    enter(to, score, ids)
    if #ids > 0 then wake(to, queue, score) end
  end
  for _, id in ipairs(ids) do
    if drop ~= '' then drop_unique(drop, id) end
    if take ~= '' then take_unique(take, id, limit) end
  end
  if fault_left and fault_left ~= '' then leave_fault(fault_left, ids) end
  if fault and fault ~= '' then enter_fault(fault, score, ids) end
  if status ~= '' then count_ended(status, queue, #ids) end
end
