-- Appends a note to the journal of a job: the one at this position of ARGV (its kind or '' for none, time, text, how many of
-- its kind are kept).
--- @include journal
local function append_note(id, position)
  local kind, at, text, most = unpack(ARGV, position, position + 3)
  if kind == '' then return end
  local key = journal_key(kind, id)
  append_entry(key, last_number(key) + 1, at, text, most)
end
