-- Whether all that a change writes is stored already: then it is the repetition of one whose answer was lost.
local function is_replay(key, fields, gone)
  if #fields + #gone == 0 then return false end
  for i = 1, #fields, 2 do
    if redis.call('HGET', key, fields[i]) ~= tostring(fields[i + 1]) then return false end
  end
  for _, name in ipairs(gone) do
    if redis.call('HEXISTS', key, name) == 1 then return false end
  end
  return true
end
