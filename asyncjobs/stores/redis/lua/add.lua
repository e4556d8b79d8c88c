-- Stores new jobs, all or none, and a receipt with them.
-- ARGV: now or '', 'return' or 'refuse' (twins), a list of (queue, most unstarted jobs), the receipt's key or '', and if there is
-- one its fingerprint, end, twins and text; groups; the facts of a group: place, score, queue, created, how long a unique key is
-- held ('' for as long as the job says), indexes.
-- Answers OK and (row, id) for each row that is answered by another stored job; or TWIN and its id; or FULL and the queue; or
-- KEPT and the fingerprint, end, twins and text of the receipt that is kept under the key already.
--- @include backlog
--- @include newcomers
--- @include receipt
--- @include store
local limits, has_receipt = cjson.decode(ARGV[3]), ARGV[4] ~= ''
local kept = has_receipt and kept_receipt(ARGV[4])
if kept then return { 'KEPT', unpack(kept) } end

local groups = read_groups(has_receipt and 9 or 5)
local answer, adding, twin = sort_out(groups, ARGV[2])
if twin then return { 'TWIN', twin } end

local full = overfull(limits, adding)
if full then return { 'FULL', full } end

if has_receipt then keep_receipt(4, answer.twins) end
for _, group in ipairs(groups) do store_group(group) end
ring_all()
return answer
