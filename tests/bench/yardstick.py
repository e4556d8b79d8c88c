"""The least that a durable job costs on Redis: the fewest commands, no store, no handler, no checks.

Figures are jobs a second of one process. They mean something only beside others of the same run on the same server.
"""

import json
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import redis

ADD = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('XADD', KEYS[2], '*', 'j', ARGV[1])
return 1"""

ADD_MANY = """
for i = 3, #ARGV, 2 do
  local key = 'yardstick:job:' .. ARGV[i]
  if redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'Id', ARGV[i], 'Payload', ARGV[i + 1], unpack(cjson.decode(ARGV[2])))
    redis.call('XADD', KEYS[1], '*', 'j', ARGV[i])
  end
end
return 1"""

CLAIM = """
local got = redis.call('XREADGROUP', 'GROUP', 'w', ARGV[1], 'COUNT', ARGV[2], 'STREAMS', KEYS[1], '>')
if not got then return {} end
local jobs, leases, gone = {}, {}, {}
for _, entry in ipairs(got[1][2]) do
  local id, key = entry[2][2], 'yardstick:job:' .. entry[2][2]
  redis.call('HSET', key, 'Status', '300', 'WorkerId', ARGV[1], 'StartedAt', ARGV[3], 'LastUpdatedAt', ARGV[3],
    'Version', '2')
  table.insert(leases, ARGV[4]); table.insert(leases, id)
  table.insert(jobs, redis.call('HGETALL', key))
  table.insert(gone, entry[1])
end
redis.call('ZADD', KEYS[2], unpack(leases))
redis.call('XACK', KEYS[1], 'w', unpack(gone)); redis.call('XDEL', KEYS[1], unpack(gone))
return jobs"""

SETTLE = """
for i = 3, #ARGV, 3 do
  local key = 'yardstick:job:' .. ARGV[i]
  if redis.call('HGET', key, 'Version') == ARGV[i + 1] then
    redis.call('HSET', key, 'Status', '400', 'Result', ARGV[i + 2], 'CompletedAt', ARGV[2], 'LastUpdatedAt', ARGV[2],
      'Version', '3')
    redis.call('ZREM', KEYS[1], ARGV[i]); redis.call('ZADD', KEYS[2], ARGV[1], ARGV[i])
  end
end
return 1"""

STREAM, LEASES, DONE = "yardstick:stream", "yardstick:inprogress", "yardstick:completed"
EMPTY = (
    "Headers",
    "RouteParams",
    "QueryParams",
    "Result",
    "Error",
    "RetryDelayUntil",
    "WorkerId",
    "StartedAt",
    "CompletedAt",
)


class Yardstick:
    """Does with a bare client what the store is measured by."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._add, self._add_many, self._claim, self._settle = map(
            self._client.script_load, (ADD, ADD_MANY, CLAIM, SETTLE)
        )
        client.delete(STREAM, LEASES, DONE)
        client.xgroup_create(STREAM, "w", id="0", mkstream=True)

    def memory(self) -> int:
        used: int = self._client.info("memory")["used_memory"]
        return used

    def submit_single(self, count: int) -> None:
        for _ in range(count):
            job_id = str(uuid.uuid4())
            fields = ["Id", job_id, "Payload", '{"args":[1],"kwargs":{}}', *_shared()]
            self._client.evalsha(self._add, 2, f"yardstick:job:{job_id}", STREAM, job_id, *fields)

    def submit_bulk(self, count: int, batch: int = 100) -> None:
        for _ in range(count // batch):
            rows = [part for n in range(batch) for part in (str(uuid.uuid4()), json.dumps({"args": [n], "kwargs": {}}))]
            self._client.evalsha(self._add_many, 1, STREAM, "", json.dumps(_shared()), *rows)

    def drain(self, batch: int = 100) -> None:
        outcome: list[Any] = []
        while True:
            pipeline = self._client.pipeline(transaction=False)
            pipeline.evalsha(self._settle, 2, LEASES, DONE, _ms(), _iso(), *outcome)
            pipeline.evalsha(self._claim, 2, STREAM, LEASES, "w1", batch, _iso(), _ms() + 30_000)
            claimed: Sequence[Any] = pipeline.execute()[-1]
            if not claimed:
                return
            outcome = []
            for flat in claimed:
                job = dict(zip(flat[::2], flat[1::2], strict=True))
                json.loads(job[b"Payload"])
                outcome += [job[b"Id"], job[b"Version"], "null"]


def _shared() -> list[str]:
    now = _iso()
    given = ("Name", "noop", "Status", "100", "RetryCount", "0", "MaxRetries", "3", "Version", "1", "Queue", "default")
    return [*given, "CreatedAt", now, "LastUpdatedAt", now, *(part for name in EMPTY for part in (name, ""))]


def _iso() -> str:
    return datetime.now(UTC).isoformat()


def _ms() -> int:
    return int(time.time() * 1000)
