-- The trash: a removed job rests there under its own keys with `trash:` before them, and in the sorted set `trash` by the time
-- it may be removed for good. Its hash says beside all else when it was removed, `DeletedAt`, and that time, `RestsUntil`.
--- @include keys
--- @include clock
local KINDS = { 'log', 'attempt', 'action', 'chunk' }

local function resting_key(id)
  return prefix .. 'trash:job:' .. id
end

local function resting_journal_key(kind, id)
  return prefix .. 'trash:journal:' .. kind .. ':' .. id
end

local function drop_resting(id)
  redis.call('ZREM', prefix .. 'trash', id)
  redis.call('DEL', resting_key(id))
  for _, kind in ipairs(KINDS) do redis.call('DEL', resting_journal_key(kind, id)) end
end

local function rename(from, to)
  if redis.call('EXISTS', from) == 1 then redis.call('RENAME', from, to) end
end

-- What is left of a job that was uprooted takes the place of what rests under its id.
local function rest(id, ends)
  drop_resting(id)
  redis.call('HSET', job_key(id), 'DeletedAt', int(now()), 'RestsUntil', ends)
  redis.call('RENAME', job_key(id), resting_key(id))
  for _, kind in ipairs(KINDS) do rename(journal_key(kind, id), resting_journal_key(kind, id)) end
  redis.call('ZADD', prefix .. 'trash', ends, id)
end
