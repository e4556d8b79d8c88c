-- Which entries of a ready stream do not stand for a ready job, and whether workers would never get the others.
-- ARGV: now or '', stream, first entry, 'fix' or ''. Looks at 100 entries.
-- Answers the last entry looked at, then ids of jobs; with 'fix' their entries are removed.
--- @include place
--- @include clock
local stream, answer = prefix .. ARGV[2], { '' }
for _, entry in ipairs(redis.call('XRANGE', stream, ARGV[3], '+', 'COUNT', 100)) do
  local id = entry[2][2]
  local job = redis.call('HMGET', job_key(id), 'Status', 'Entry')
  answer[1] = entry[1]
  if job[1] ~= '100' or job[2] ~= entry[1] then
    answer[#answer + 1] = id
    if ARGV[4] == 'fix' then redis.call('XDEL', stream, entry[1]) end
  end
end
return answer
