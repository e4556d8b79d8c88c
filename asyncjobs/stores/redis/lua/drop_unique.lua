-- Lets go of a unique key, if this job holds it.
--- @include unique
local function drop_unique(key, id)
  local stored = redis.call('GET', unique_key(key))
  if stored and stored:match('^[^:]*') == id then redis.call('DEL', unique_key(key)) end
end
