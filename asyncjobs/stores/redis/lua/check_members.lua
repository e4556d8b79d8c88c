-- Which members of a sorted set do not belong there: no such job, or one that differs from what the set is for.
-- ARGV: now or '', set, field of a job and the value it has in this set ('' for any), 'fix' or '', members …
-- Answers members; with 'fix' they are removed.
--- @include forget
local answer = {}
for i = 6, #ARGV do
  local id = ARGV[i]
  local value = redis.call('HGET', job_key(id), ARGV[3])
  local is_member = redis.call('ZSCORE', prefix .. ARGV[2], id)
  if is_member and (not value or (ARGV[4] ~= '' and value ~= ARGV[4])) then
    answer[#answer + 1] = id
    if ARGV[5] == 'fix' then redis.call('ZREM', prefix .. ARGV[2], id) end
  end
end
return answer
