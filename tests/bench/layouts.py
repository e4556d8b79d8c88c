"""Ways to keep delayed jobs by due time in Redis, each as four scripts. What they are compared by: `buckets.py`."""

from string import Template
from typing import NamedTuple

# The part of a job that buckets without due times have to look up. Every layout reads the hash of what it promotes.
HASHES = "for i = 1, #ARGV, 2 do redis.call('HSET', 'job:' .. ARGV[i + 1], 'Due', ARGV[i]) end"

SHARED = """
local index, limit = KEYS[1], 100
local function bucket(start) return index .. ':' .. start end
local function start_of(due) return due - due % 300000 end
local function due_of(id) return tonumber(redis.call('HGET', 'job:' .. id, 'Due')) end
local function ready(id) redis.call('XADD', KEYS[2], '*', 'j', id) end
local function move(key, now, most)
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(ids) do if due_of(id) then ready(id) end end
  if #ids > 0 then redis.call('ZREM', key, unpack(ids)) end
  return #ids
end
local function list_starts()
  local starts = {}
  for i = 1, #ARGV, 2 do
    starts[i] = start_of(ARGV[i])
    starts[i + 1] = starts[i]
  end
  redis.call('ZADD', index, unpack(starts))
end
local function unlist_empty(start)
  if redis.call('EXISTS', bucket(start)) == 0 then redis.call('ZREM', index, start) end
end
"""


class Layout(NamedTuple):
    """Scripts: add (due, id, …), promote (now), remove (due, id), page (length)."""

    name: str
    add: str
    promote: str
    remove: str
    page: str


SORTED_SET = Layout(
    name="sorted set",
    add="redis.call('ZADD', index, unpack(ARGV))",
    promote="return move(index, ARGV[1], limit)",
    remove="return redis.call('ZREM', index, ARGV[2])",
    page="return redis.call('ZRANGE', index, 0, ARGV[1] - 1)",
)

SORTED_BUCKETS = Layout(
    name="buckets: sorted sets",
    add="""
for i = 1, #ARGV, 2 do redis.call('ZADD', bucket(start_of(ARGV[i])), ARGV[i], ARGV[i + 1]) end
list_starts()""",
    promote="""
local moved = 0
for _, start in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', ARGV[1], 'LIMIT', 0, limit)) do
  if moved < limit then moved = moved + move(bucket(start), ARGV[1], limit - moved) end
  unlist_empty(start)
end
return moved""",
    remove="""
local start = start_of(ARGV[1])
local removed = redis.call('ZREM', bucket(start), ARGV[2])
unlist_empty(start)
return removed""",
    page="""
local page = {}
for _, start in ipairs(redis.call('ZRANGE', index, 0, ARGV[1] - 1)) do
  if #page == tonumber(ARGV[1]) then break end
  local more = redis.call('ZRANGE', bucket(start), 0, ARGV[1] - #page - 1)
  for _, id in ipairs(more) do page[#page + 1] = id end
end
return page""",
)


def unsorted_buckets(name: str, **commands: str) -> Layout:
    """When a bucket opens, what is due in it becomes ready; the rest waits in a small sorted set of opened jobs."""
    scripts = {
        "add": """
for i = 1, #ARGV, 2 do redis.call('$push', bucket(start_of(ARGV[i])), ARGV[i + 1]) end
list_starts()""",
        "promote": """
local now, opened = tonumber(ARGV[1]), index .. ':opened'
local moved = move(opened, now, limit)
local start = redis.call('ZRANGEBYSCORE', index, '-inf', now, 'LIMIT', 0, 1)[1]
if not start or moved == limit then return moved end
local ids = redis.call('$pop', bucket(start), limit - moved)
for _, id in ipairs(ids) do
  local due = due_of(id)
  if due <= now then ready(id) else redis.call('ZADD', opened, due, id) end
end
unlist_empty(start)
return moved + #ids""",
        "remove": """
local start = start_of(ARGV[1])
local removed = redis.call($drop)
unlist_empty(start)
return removed + redis.call('ZREM', index .. ':opened', ARGV[2])""",
        "page": """
local page, size = redis.call('ZRANGE', index .. ':opened', 0, ARGV[1] - 1), tonumber(ARGV[1])
for _, start in ipairs(redis.call('ZRANGE', index, 0, ARGV[1] - 1)) do
  if #page >= size then break end
  local inside = {}
  for i, id in ipairs(redis.call($all)) do inside[i] = { due_of(id), id } end
  table.sort(inside, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  for i = 1, math.min(#inside, size - #page) do page[#page + 1] = inside[i][2] end
end
return page""",
    }
    return Layout(name, **{verb: Template(text).substitute(commands) for verb, text in scripts.items()})


LAYOUTS = (
    SORTED_SET,
    SORTED_BUCKETS,
    unsorted_buckets(
        "buckets: sets",
        push="SADD",
        pop="SPOP",
        drop="'SREM', bucket(start), ARGV[2]",
        all="'SMEMBERS', bucket(start)",
    ),
    unsorted_buckets(
        "buckets: lists",
        push="RPUSH",
        pop="LPOP",
        drop="'LREM', bucket(start), 1, ARGV[2]",
        all="'LRANGE', bucket(start), 0, -1",
    ),
)
