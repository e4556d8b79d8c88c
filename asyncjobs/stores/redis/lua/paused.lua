-- A pause is `until:since:reason` in the hash `paused`; until is empty for "until resumed".
--- @include keys
--- @include clock
-- Whether the queue is paused, and until when if that is known.
local function paused(queue)
  local stored = redis.call('HGET', prefix .. 'paused', queue)
  if not stored then return false end
  local limit = tonumber(stored:match('^(%d*):'))
  return not limit or now() < limit, limit
end
