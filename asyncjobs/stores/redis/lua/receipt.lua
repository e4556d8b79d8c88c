-- A receipt says what was answered to a request, under the request's key, until it runs out.
--- @include keys
--- @include clock
local function receipt_key(key)
  return prefix .. 'receipt:' .. key
end

-- Returns fingerprint, end, twins and text.
local function kept_receipt(key)
  local kept = redis.call('HMGET', receipt_key(key), 'Fingerprint', 'Until', 'Twins', 'Text')
  if kept[2] and tonumber(kept[2]) > now() then return kept end
end

-- Keeps the receipt at this position of ARGV, with the twins that were found beside those it names.
local function keep_receipt(at, found)
  local key, fingerprint, ends, twins, text = unpack(ARGV, at, at + 4)
  if twins ~= '' then table.insert(found, 1, twins) end
  redis.call('HSET', receipt_key(key), 'Fingerprint', fingerprint, 'Until', ends,
    'Twins', table.concat(found, ' '), 'Text', text)
  redis.call('PEXPIRE', receipt_key(key), int(tonumber(ends) - now()))
end
