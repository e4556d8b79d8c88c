-- A unique key holds `id:until`; until is empty unless the key is held for a time.
--- @include keys
--- @include clock
local function unique_key(key)
  return prefix .. 'unique:' .. key
end

local function holder(key)
  local stored = redis.call('GET', unique_key(key))
  if not stored then return nil end
  local id, limit = stored:match('^([^:]*):(%d*)$')
  if not id or (limit ~= '' and tonumber(limit) <= now()) then return nil end
  return redis.call('EXISTS', job_key(id)) == 1 and id or nil
end

local function take_unique(key, id, limit)
  if not holder(key) then redis.call('SET', unique_key(key), id .. ':' .. limit) end
end
