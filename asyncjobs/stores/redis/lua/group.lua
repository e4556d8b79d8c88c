-- Reads a batch of writes: jobs that write the same values to the same fields come as one group.
-- A group: a head, then a row a job: id, version, a value for each own field. The head is a JSON list, which a client
-- sends faster than its forty parts: count, facts (what the script wants to know of the group), shared (field, value, …),
-- own (field, …), gone (field, …). Payloads and results are never in it. A group with entries for the journal has two more
-- lists in its head, their kinds and how many of each are kept, and a time and a text for each entry at the end of a row.
local function read_group(at)
  local count, facts, shared, own, gone, kinds, limits = unpack(cjson.decode(ARGV[at]))
  local group = { count = count, facts = facts, fields = shared, own = own, gone = gone,
    kinds = kinds, limits = limits, first = at + 1, shared = #shared, width = 2 + #own + 2 * (kinds and #kinds or 0) }
  return group, group.first + count * group.width
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
