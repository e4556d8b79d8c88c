-- The entries of several sorted sets on one side of a cursor, merged in order of (score, id).
-- ARGV: 'up' or 'down', score and id of the cursor ('' and '' to begin), lowest and highest score, count, sets …
-- Answers id, score by turns.
--- @include sources
local count = tonumber(ARGV[6])

local sources = {}
for i = 7, #ARGV do
  local source = open(prefix .. ARGV[i], up, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
  advance(source)
  if source.id then sources[#sources + 1] = source end
end

local answer = {}
while #answer < 2 * count do
  local best
  for _, source in ipairs(sources) do
    if source.id and (not best or is_before(source, best)) then best = source end
  end
  if not best then break end
  answer[#answer + 1] = best.id
  answer[#answer + 1] = best.items[best.at + 1]
  advance(best)
end
return answer
