-- Appends the entries of one row of `swap` to the journals of its job: a stream of each kind, numbered 1, 2, 3 …
--- @include keys
--- @include clock
local function last_number(key)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  return last and tonumber(last[1]:match('^%d+')) or 0
end

local function append_entry(key, number, at, text, most)
  redis.call('XADD', key, 'MAXLEN', '=', most, int(number) .. '-0', 'a', at, 't', text)
end

local function append_entries(group, at)
  if not group.kinds then return end
  local id, numbers = ARGV[at], {}
  local part = at + 2 + #group.own
  for _, kind in ipairs(group.kinds) do
    local key = journal_key(kind, id)
    local number = (numbers[kind] or last_number(key)) + 1
    append_entry(key, number, ARGV[part], ARGV[part + 1], group.limits[kind])
    numbers[kind], part = number, part + 2
  end
end
