-- Tells the jobs of `add` that are new from those that are answered by another stored one.
--- @include unique
--- @include group_unique
local ids, keys = {}, {}

local function stored_instead(id, key)
  if ids[id] or redis.call('EXISTS', job_key(id)) == 1 then return id end
  return key and (keys[key] or holder(key))
end

-- Gives each group the ids and positions of its new jobs. Returns the answer of `add`, with the twins of a receipt beside it,
-- how many jobs come to each queue, and the first twin if twins are to be refused.
local function sort_out(groups, twins)
  local answer, adding, row = { 'OK', twins = {} }, {}, 0
  for _, group in ipairs(groups) do
    group.ids, group.rows = {}, {}
    for position = group.first, group.first + (group.count - 1) * group.width, group.width do
      local id, key = ARGV[position], unique_of(group, position)
      local other = stored_instead(id, key)
      if other and other ~= id then
        if twins == 'refuse' then return answer, adding, other end
        table.insert(answer.twins, row .. ' ' .. other)
      end
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
  return answer, adding
end
