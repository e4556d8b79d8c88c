-- The time in milliseconds: the one given as ARGV[1], else the server's, asked once.
local moment = tonumber(ARGV[1])

local function now()
  if not moment then
    local time = redis.call('TIME')
    moment = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return moment
end

-- 14 significant digits are all that Lua prints of a number by itself.
local function int(number)
  return string.format('%d', number)
end
