-- Milliseconds as .NET's round-trip text, by days since 0000-03-01 (a leap day is then the last of its year).
local function iso(ms)
  local days, rest = math.floor(ms / 86400000) + 719468, ms % 86400000
  local era = math.floor(days / 146097)
  local day = days - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  day = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * day + 2) / 153)
  day = day - math.floor((153 * month + 2) / 5) + 1
  month = month < 10 and month + 3 or month - 9
  year = year + era * 400 + (month <= 2 and 1 or 0)
  local seconds = math.floor(rest / 1000)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03d0000+00:00', year, month, day,
    math.floor(seconds / 3600), math.floor(seconds / 60) % 60, seconds % 60, rest % 1000)
end
