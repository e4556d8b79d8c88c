-- Enters jobs into a sorted set, all at one score.
--- @include keys
local function list_all(set, score, ids)
  if #ids == 1 then return redis.call('ZADD', prefix .. set, score, ids[1]) end
  local members = {}
  for i, id in ipairs(ids) do
    members[2 * i - 1] = score
    members[2 * i] = id
  end
  redis.call('ZADD', prefix .. set, unpack(members))
end
