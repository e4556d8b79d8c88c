-- Removes jobs, each if its version is still the one that was read.
-- ARGV: now or '', (id, version) … Answers '1' (gone now) or '0' (stale) for each, in one string.
--- @include forget
local answer = {}
for i = 2, #ARGV, 2 do
  local stored = redis.call('HMGET', job_key(ARGV[i]), 'Version', 'Status')
  local same = (stored[1] or '1') == ARGV[i + 1]
  if stored[2] and same then forget(ARGV[i]) end
  answer[#answer + 1] = (same or not stored[2]) and '1' or '0'
end
return table.concat(answer)
