-- Removes a job: from wherever its hash says it is, then the hash with its journals.
--- @include facts
--- @include drop_unique
--- @include fault
--- @include gone
local function drop_indexes(id, indexes)
  for _, index in ipairs(indexes) do redis.call('ZREM', prefix .. index, id) end
  if redis.call('EXISTS', prefix .. indexes[1]) == 0 then redis.call('SREM', prefix .. 'jobs:indexes', indexes[1]) end
end

-- Leaves nothing but the hash and the journals.
local function uproot(id)
  local job = facts_of(id)
  leave(place_of(job), { id })
  drop_indexes(id, indexes_of(job))
  if job.unique then drop_unique(job.unique, id) end
  if job.fault then leave_fault(job.fault, { id }) end
  if job.owner then leave_behind(id, job.owner) end
end

local function forget(id)
  uproot(id)
  redis.call('DEL', job_key(id), journal_key('log', id), journal_key('attempt', id),
    journal_key('action', id), journal_key('chunk', id))
end
