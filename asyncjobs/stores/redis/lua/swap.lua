-- Writes changed jobs, each if its version is still the one that was read.
-- ARGV: now or '', groups; the facts of a group: place left and entered ('' and '' for a note on a running job), score, status
-- to count or '', queue, step of the version, unique key to drop, to take, how long it is held, status and priority before,
-- and if that changes: fault left and entered ('' for none).
-- Answers '1' (stored now) or '0' (stale) for each row, in one string.
--- @include move
--- @include write
--- @include journal
local answer = {}

for _, group in ipairs(read_groups(2)) do
  local moved = {}
  for at = group.first, group.first + (group.count - 1) * group.width, group.width do
    local outcome = write(group, at)
    if outcome == 'written' then
      append_entries(group, at)
      moved[#moved + 1] = ARGV[at]
    end
    answer[#answer + 1] = outcome == 'stale' and '0' or '1'
  end
  move(group, moved)
end
ring_all()
return table.concat(answer)
