-- The unique key in a row of `add`, if the group has such a field.
--- @include group
local function own_position(group, name)
  for i, field in ipairs(group.own) do
    if field == name then return i + 1 end
  end
end

local function unique_of(group, at)
  group.unique = group.unique or own_position(group, 'UniqueKey') or 0
  if group.unique > 0 then return ARGV[at + group.unique] end
end
