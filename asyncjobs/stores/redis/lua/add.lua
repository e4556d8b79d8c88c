-- Stores new jobs, all or none.
-- ARGV: now or '', 'return' or 'refuse' (twins), a list of (queue, most unstarted jobs), groups; the facts of a group:
-- place, score, queue, created, how long a unique key is held ('' for as long as the job says), indexes.
-- Answers OK and (row, id) for each row that is answered by another stored job; or TWIN and its id; or FULL and the queue.
--- @include backlog
--- @include store
local limits = cjson.decode(ARGV[3])
local groups, answer, adding, ids, keys = read_groups(4), { 'OK' }, {}, {}, {}

local function stored_instead(id, key)
  if ids[id] or redis.call('EXISTS', job_key(id)) == 1 then return id end
  return key and (keys[key] or holder(key))
end
local row = 0
for _, group in ipairs(groups) do
  group.ids, group.rows = {}, {}
  for position = group.first, group.first + (group.count - 1) * group.width, group.width do
    local id, key = ARGV[position], unique_of(group, position)
    local other = stored_instead(id, key)
    if other and other ~= id and ARGV[2] == 'refuse' then return { 'TWIN', other } end
    if other then
      answer[#answer + 1] = row
      answer[#answer + 1] = other
    else
      ids[id] = true
      if key then keys[key] = id end
      table.insert(group.ids, id)
      table.insert(group.rows, position)
    end
    row = row + 1
  end
  adding[group.facts[3]] = (adding[group.facts[3]] or 0) + #group.ids
end

local full = overfull(limits, adding)
if full then return { 'FULL', full } end

for _, group in ipairs(groups) do store_group(group) end
ring_all()
return answer
