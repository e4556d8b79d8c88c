-- Reads a batch of writes: jobs that write the same values to the same fields come as one group.
-- A group: count, then four lists, each behind its length: facts (what the script wants to know of the group),
-- shared (field, value, …), own (field, …), gone (field, …); then a row a job: id, version, a value for each own field.
local function list(at)
  local length, items = tonumber(ARGV[at]), {}
  for i = 1, length do items[i] = ARGV[at + i] end
  return items, at + length + 1
end

local function read_group(at)
  local group = { count = tonumber(ARGV[at]) }
  group.facts, at = list(at + 1)
  group.shared, at = list(at)
  group.own, at = list(at)
  group.gone, at = list(at)
  group.first, group.width = at, 2 + #group.own
  return group, at + group.count * group.width
end

local function read_groups(at)
  local groups = {}
  while ARGV[at] do
    groups[#groups + 1], at = read_group(at)
  end
  return groups
end

-- The flat list of fields and values of one row, written over those of the row before.
local function row_fields(group, at)
  local fields, size = group.fields, #group.shared
  if not fields then
    fields = { unpack(group.shared) }
    group.fields = fields
  end
  for i, name in ipairs(group.own) do
    fields[size + 2 * i - 1] = name
    fields[size + 2 * i] = ARGV[at + 1 + i]
  end
  return fields, size + 2 * #group.own
end
