-- The time in milliseconds: the server's, or the one given as ARGV[1].
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- 14 significant digits are all that Lua prints of a number by itself.
local function int(number)
  return string.format('%d', number)
end
