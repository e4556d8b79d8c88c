-- What is left of a job that had an owner, for a week: when it was removed, and whose it was.
--- @include keys
--- @include clock
local function leave_behind(id, owner)
  redis.call('SET', prefix .. 'gone:' .. id, int(now()) .. ':' .. owner, 'PX', 604800000)
end
