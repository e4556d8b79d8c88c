-- Which of these journals are of jobs that are gone.
-- ARGV: now or '', 'fix' or '', (kind, id) … Answers (kind, id) by turns; with 'fix' they are removed.
--- @include keys
local answer = {}
for i = 3, #ARGV, 2 do
  local kind, id = ARGV[i], ARGV[i + 1]
  local key = journal_key(kind, id)
  if redis.call('EXISTS', key) == 1 and redis.call('EXISTS', job_key(id)) == 0 then
    answer[#answer + 1] = kind
    answer[#answer + 1] = id
    if ARGV[2] == 'fix' then redis.call('DEL', key) end
  end
end
return answer
