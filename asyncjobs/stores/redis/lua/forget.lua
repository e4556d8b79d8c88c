-- Removes a job: from wherever its hash says it is, then the hash with its journals.
--- @include lists
--- @include drop_unique
--- @include fault
--- @include gone
local function drop_indexes(id, queue, name, owner, tags)
  local indexes = indexes_of(queue, name, owner, tags)
  for _, index in ipairs(indexes) do redis.call('ZREM', prefix .. index, id) end
  if redis.call('EXISTS', prefix .. indexes[1]) == 0 then redis.call('SREM', prefix .. 'jobs:indexes', indexes[1]) end
end

-- Leaves nothing but the hash and the journals.
local function uproot(id)
  local job = redis.call('HMGET', job_key(id), 'Status', 'Queue', 'Priority', 'Name', 'Owner', 'Tags', 'UniqueKey',
    'Fault')
  local queue = job[2] or 'default'
  leave(place_of(job[1], queue, job[3]), { id })
  drop_indexes(id, queue, job[4], job[5], job[6])
  if job[7] then drop_unique(job[7], id) end
  if job[8] then leave_fault(job[8], { id }) end
  if job[5] then leave_behind(id, job[5]) end
end

local function forget(id)
  uproot(id)
  redis.call('DEL', job_key(id), journal_key('log', id), journal_key('attempt', id),
    journal_key('action', id), journal_key('chunk', id))
end
