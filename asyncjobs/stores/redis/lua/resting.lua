-- The jobs that rest in the trash under these ids.
-- ARGV: ids … Answers for each its hash or '', when it was removed, until when it rests, and the last note in its journal of
-- actions: id of the entry or '', fields.
--- @include hash
--- @include trash
local answer = {}
for i, id in ipairs(ARGV) do
  local times = redis.call('HMGET', resting_key(id), 'DeletedAt', 'RestsUntil')
  local note = redis.call('XREVRANGE', resting_journal_key('action', id), '+', '-', 'COUNT', 1)[1] or { '', {} }
  answer[i] = { read_hash(resting_key(id)), times[1] or '', times[2] or '', note[1], note[2] }
end
return answer
