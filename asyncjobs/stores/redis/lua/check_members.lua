-- Which members of a sorted set do not belong there: no such job, or not of the status the set is for.
-- ARGV: now or '', set, its status or '' for an index, 'fix' or '', members … Answers members; with 'fix' they are removed.
--- @include forget
local answer = {}
for i = 5, #ARGV do
  local id = ARGV[i]
  local status = redis.call('HGET', job_key(id), 'Status')
  local is_member = redis.call('ZSCORE', prefix .. ARGV[2], id)
  if is_member and (not status or (ARGV[3] ~= '' and status ~= ARGV[3])) then
    answer[#answer + 1] = id
    if ARGV[4] == 'fix' then redis.call('ZREM', prefix .. ARGV[2], id) end
  end
end
return answer
