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
  local ends = tonumber(redis.call('HGET', resting_key(id), 'RestsUntil'))
  local listed = tonumber(redis.call('ZSCORE', prefix .. 'trash', id))
  if redis.call('EXISTS', resting_key(id)) == 0 then return (listed or has_journal(id)) and 'ASTRAY' end
  if not ends or listed ~= ends then return 'MISPLACED', int(ends or listed or now()) end
end

local function list_resting(id, ends)
  redis.call('HSET', resting_key(id), 'RestsUntil', ends)
  redis.call('ZADD', prefix .. 'trash', ends, id)
end

for i = 3, #ARGV do
  local found, ends = wrong(ARGV[i])
  if found then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = found
    if ARGV[2] == 'fix' then
      if ends then list_resting(ARGV[i], ends) else drop_resting(ARGV[i]) end
    end
  end
end
return answer
