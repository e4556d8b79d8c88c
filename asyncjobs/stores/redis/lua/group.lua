-- Reads a batch of writes: jobs that write the same values to the same fields come as one group.
-- A group: count, then four lists: facts (what the script wants to know of the group), shared (field, value, …),
-- own (field, …), gone (field, …); then a row a job: id, version, a value for each own field.
-- A list is one argument, its items each followed by a unit separator: a client sends one string faster than forty.
local function list(text)
  local items, size = {}, 0
  for item in text:gmatch('([^\31]*)\31') do
    size = size + 1
    items[size] = item
  end
  return items
end

local function read_group(at)
  local group = { count = tonumber(ARGV[at]), facts = list(ARGV[at + 1]), fields = list(ARGV[at + 2]),
    own = list(ARGV[at + 3]), gone = list(ARGV[at + 4]), first = at + 5 }
  group.shared, group.width = #group.fields, 2 + #group.own
  return group, group.first + group.count * group.width
end

local function read_groups(at)
  local groups = {}
  while ARGV[at] do
    groups[#groups + 1], at = read_group(at)
  end
  return groups
end

-- The flat list of fields and values of one row, written over those of the row before, and its length.
local function row_fields(group, at)
  local fields, own, size = group.fields, group.own, group.shared
  for i = 1, #own do
    fields[size + 1] = own[i]
    fields[size + 2] = ARGV[at + 1 + i]
    size = size + 2
  end
  return fields, size
end
