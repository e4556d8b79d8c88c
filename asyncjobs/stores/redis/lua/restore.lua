-- Puts jobs back from the trash, each if it rests there in the version that was read and no job is stored under its id.
-- ARGV: now or '', a note (4, as in `note`), (id, version, next version, unique key to take or '', facts as in `add`) …
--- @include note
--- @include trash
--- @include fault
--- @include index
--- @include bell
--- @include unique
local function unrest(id, version)
  local key = job_key(id)
  redis.call('RENAME', resting_key(id), key)
  redis.call('HDEL', key, 'DeletedAt', 'RestsUntil', 'Entry')
  redis.call('HSET', key, 'Version', version)
  for _, kind in ipairs(KINDS) do rename(resting_journal_key(kind, id), journal_key(kind, id)) end
  redis.call('ZREM', prefix .. 'trash', id)
  redis.call('DEL', prefix .. 'gone:' .. id)
end

local function put_back(id, key, facts)
  local place, score, queue, _, limit = unpack(facts)
  enter(place, score, { id })
  index_all({ facts = facts, ids = { id } })
  local fault = redis.call('HGET', job_key(id), 'Fault')
  if fault then enter_fault(fault, score, { id }) end
  if key ~= '' then take_unique(key, id, limit) end
  wake(place, queue, score)
end

for i = 6, #ARGV, 5 do
  local id, version, following, key, facts = unpack(ARGV, i, i + 4)
  local resting = redis.call('HMGET', resting_key(id), 'Version', 'Status')
  if resting[2] and (resting[1] or '1') == version and redis.call('EXISTS', job_key(id)) == 0 then
    unrest(id, following)
    append_note(id, 2)
    put_back(id, key, cjson.decode(facts))
  end
end
ring_all()
