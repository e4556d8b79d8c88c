-- Which members of a sorted set do not belong there: no such job, or one whose hash does not name the set.
-- ARGV: now or '', set, 'fix' or '', members … Answers members; with 'fix' they are removed.
--- @include facts
--- @include fault
local answer = {}

-- One that is there and cannot be read, perhaps a later release's, is left where it is.
local function belongs(id)
  local job = facts_of(id)
  if not is_known(job) or not job.tags then return job.status end
  if place_of(job) == ARGV[2] then return true end
  if job.fault and fault_place(job.fault) == ARGV[2] then return job.status == '500' end
  for _, index in ipairs(indexes_of(job)) do
    if index == ARGV[2] then return true end
  end
end

for i = 4, #ARGV do
  if redis.call('ZSCORE', prefix .. ARGV[2], ARGV[i]) and not belongs(ARGV[i]) then
    answer[#answer + 1] = ARGV[i]
    if ARGV[3] == 'fix' then redis.call('ZREM', prefix .. ARGV[2], ARGV[i]) end
  end
end
return answer
