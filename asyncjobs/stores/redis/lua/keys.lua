-- Names a job's keys. KEYS[1] is the prefix, hash-tagged on a cluster, so that all keys of a store are in one slot.
local prefix = KEYS[1] .. ':'

local function job_key(id)
  return prefix .. 'job:' .. id
end

local function journal_key(kind, id)
  return prefix .. 'journal:' .. kind .. ':' .. id
end
