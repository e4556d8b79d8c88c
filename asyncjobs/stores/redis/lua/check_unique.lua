-- Which of these unique keys are held by a job that has no right to them.
-- ARGV: now or '', 'fix' or '', keys … Answers (key, id) by turns; with 'fix' they are let go.
--- @include unique
local answer = {}

-- The statuses in which a key is not held any more. What a later release may have beside them is not ours to judge.
local OVER = {
  running = { ['400'] = true, ['500'] = true, ['600'] = true },
  pending = { ['300'] = true, ['400'] = true, ['500'] = true, ['600'] = true },
}

-- A key that is held for a time is let go by that time alone.
local function has_right(id, key, limit)
  local job = redis.call('HMGET', job_key(id), 'Status', 'UniqueKey', 'UniqueWhile')
  if job[2] ~= key then return false end
  local over = OVER[job[3] or 'running']
  return limit ~= '' or not (over and over[job[1]])
end

for i = 3, #ARGV do
  local stored = redis.call('GET', unique_key(ARGV[i]))
  local id, limit = (stored or ''):match('^([^:]*):?(.*)$')
  if stored and not has_right(id, ARGV[i], limit) then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = id
    if ARGV[2] == 'fix' then redis.call('DEL', unique_key(ARGV[i])) end
  end
end
return answer
