-- Which of these ids are not as one in the trash should be: with a hash, and listed by the time in it.
-- ARGV: now or '', 'fix' or '', ids … Answers (id, what is wrong) by turns; with 'fix' it is put right.
--- @include trash
local answer = {}

local function has_journal(id)
  for _, kind in ipairs(KINDS) do
    if redis.call('EXISTS', resting_journal_key(kind, id)) == 1 then return true end
  end
end

local function wrong(id)
  local ends = redis.call('HGET', resting_key(id), 'RestsUntil')
  local listed = redis.call('ZSCORE', prefix .. 'trash', id)
  if not ends and (listed or has_journal(id)) then return 'ASTRAY' end
  if ends and tonumber(listed) ~= tonumber(ends) then return 'MISPLACED', ends end
end

for i = 3, #ARGV do
  local found, ends = wrong(ARGV[i])
  if found then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = found
    if ARGV[2] == 'fix' then
      if ends then redis.call('ZADD', prefix .. 'trash', ends, ARGV[i]) else drop_resting(ARGV[i]) end
    end
  end
end
return answer
