"""Requests that are nearly right, and not: what strangers, broken clients and attackers send."""

import gzip
import json
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final
from uuid import uuid4

from tests.api.wire import URL, Sent

KINDS: Final = "tests.api.jobs."
TYPED: Final = {
    "amount": "1.50",
    "on": "2026-01-02",
    "at": "2026-01-02T03:04:05Z",
    "span": "P1DT2H",
    "key": "00000000-0000-0000-0000-000000000005",
}
SUBMISSIONS: Final[Sequence[Mapping[str, Any]]] = (
    {"name": KINDS + "add", "kwargs": {"a": 1, "b": 2}},
    {"name": KINDS + "add", "args": [1, 2], "tags": ["red", "blue"], "priority": 3},
    {"name": KINDS + "echo", "payload": {"value": {"a": [1, 2.5, None, True, "x"]}}, "unique_key": "one"},
    {"name": KINDS + "greet", "kwargs": {"name": "Ada", "times": 2, "polite": True}, "delay": 60},
    {"name": KINDS + "talk", "payload": {"lines": 3}, "queue": "slow", "run_at": "2026-01-01T00:00:00Z"},
    {"name": KINDS + "once", "args": [7], "delay": "PT10M"},
    {"name": KINDS + "typed", "kwargs": TYPED},
    {"name": KINDS + "typed", "args": [*TYPED.values(), "low", {"a": [1.5]}, 1, "x"]},
    {"name": KINDS + "typed", "kwargs": {**TYPED, "other": True, "another": "10:30"}},
)
QUERIES: Final = (
    "status=queued&name=tests.api.jobs.add&queue=default&tag=red&limit=10",
    "created_from=2020-01-01T00:00:00Z&created_to=2030-01-01T00:00:00%2B01:00",
    "cursor=1700000000000~0&limit=5",
    "owner=1001",
)
JOB_QUERIES: Final = ("", "wait=1", "after=1&limit=5")

# JSON has no way to write these with `json.dumps`: they go into the text in place of a mark.
RAW: Final = (
    "1e400", "-1e999999", "NaN", "Infinity", "-Infinity", "9223372036854775808", "-9223372036854775809",
    "9007199254740992", "1" * 5_000, "0." + "1" * 5_000, "01", "+1", "1.", "-", "0x10", "1_000", "tru", "'x'",
    "undefined", r'"\ud800"', r'"\udfff\ud800"', r'"\u0000"', r'"\x00"', r'"\u00"', '"\x00"', '"\n"', '"unfinished',
    r'"\ud83d\ude00"',
    '{"a":1,"a":2}', '{"a":1,}', "[1,]", "[" * 100_000, '{"a":' * 100_000, "[" * 30 + "]" * 30, '{"\\ud800":1}',
    '{"a\\u0000":1}', "/* x */ 1", "1 2", "",
)  # fmt: skip
ODD: Final[Sequence[Any]] = (
    None, True, False, 0, -1, 1.5, 1e300, -0.0, 5e-324, 2**53 - 1, -(2**53) + 1, 101, "", " ", "x", "x" * 201,
    "x" * 70_000,
    "ø", "\U0001f600", "\u202e", "\x7f", "\x1b[2J", "\r\nlevel=ERROR", "nan", "inf", "1e400", "9" * 999, "9" * 4_301,
    "١٢٣", [], {}, [[]], [{}], {"": ""}, {"a": {"b": {"c": []}}}, {"$type": "model", "value": ["auth.user", 1, None]},
    {"__proto__": {}}, ["x"] * 500, [[1] * 10] * 10, {str(n): n for n in range(1_001)}, list(range(20_000)),
    "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "2026-02-30T00:00:00Z", "2026-01-01", "2026-W01-1", "2026-01-01T00:00:00+99:99", "P", "PT", "P-1D", "PT-5S",
    "P99999999999999999D", "P1Y", "1e999999999", "-0", "1e-999999999", "24:00",
    "99999 23:59:59", "٣", "PT" + "1" * 60 + "S", "asyncjobs.bench.nothing", "os.system",
    "tests.api.jobs.hidden",
    "tests.api.jobs.staff_only", "{0.__class__}", "%s%n", "../../etc/passwd", "'; DROP TABLE asyncjobs_job; --",
)  # fmt: skip
KEYS: Final = (
    "", " ", "a/b", "a~b", "~1", "/", "#", "%00", "\x00", "\x1f", "\ud800", "ø", "\u2028", "x" * 5_000, "__class__",
    "self", "$type", "callback_url", "name", "kwargs", "Name", "payload", "owner", "id", "status", "headers", "args[]",
    "kwargs.a", "constructor",
)  # fmt: skip
BYTES: Final = (
    b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"\x00", b"\x1b",
    b"\\", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\xe2\x80\xa8",
)  # fmt: skip
CONTENT_TYPES: Final = (
    None, "", "text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data",
    "multipart/form-data; boundary=x", "multipart/form-data; boundary=" + "x" * 300, "application/octet-stream",
    "*/*", "json",
    "application/json; charset=utf-8", 'application/json; charset="UTF-8"', "application/json; charset=idontexist",
    "application/json; charset=utf-16", "application/json; charset=latin-1", "application/json; charset=",
    "application/json; charset", "application/json;;;", "application/json; charset=utf-8; charset=utf-16",
    "application/json, x",
    "application/vnd.api+json", "APPLICATION/JSON", " application/json ", "application/json; boundary=x", "/", ";",
    "\xff", "application/json; charset*=utf-8''utf-16", "application/" + "x" * 8_000,
    "application/json; charset=rot13", "application/json; charset=undefined", "application/json" + "; a=b" * 1_000,
)  # fmt: skip
ENCODINGS: Final = (
    "gzip", "deflate", "br", "identity", "gzip, identity", "", "x", "\xff", "identity;q=0", "IDENTITY", "chunked",
)  # fmt: skip
LENGTHS: Final = (
    None, "-1", "-9223372036854775809", "0", "1", "abc", "1e3", "9" * 30, "１", " 5 ", "5, 5", "0x10", "+3", "",
)  # fmt: skip
JUNK: Final = (
    "", " ", "x", "\xff\xfe", "\x00", "\x7f", "a" * 8_192, '"', '"x', '""', '"a\\"b"', '"a\\b"', "'", ",", ";", "=",
    "*", "-1", "W/", 'W/"x"', '"x", "y"', "," * 5_000, '"' + "x" * 300 + '"', "wait=", "wait=1", "wait=-1",
    "wait=99999999999999999999",
    "wait=1e9", 'wait="1"', "wait=1;wait=2", "respond-async, wait=1", "wait" + " " * 5_000 + "=", "; " * 4_000, "é",
    "\u00a0",
    "DELETE", "GET", "bytes=0-1", "1.1", "-", "0.0", "9" * 40 + "." + "9" * 40, "%0d%0aX: y", "$(id)", "{{7*7}}",
    "<script>",
)  # fmt: skip
HEADERS: Final = (
    "Idempotency-Key", "Prefer", "If-None-Match", "If-Match", "Accept", "Accept-Language", "Accept-Encoding",
    "Range", "Expect",
    "X-HTTP-Method-Override", "X-Method-Override", "Last-Event-ID", "X-Request-Id", "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto", "Cookie", "Referer", "Origin", "Content-Language", "Transfer-Encoding", "TE", "Traceparent",
    "Via", "X-CSRFToken", "If-Modified-Since", "X-Original-URL", "Connection", "Upgrade", "Link", "Date", "From",
)  # fmt: skip
FORM_WORDS: Final = (
    b"file", b"title", b"", b"a.txt", b"../../etc/passwd", b"..", b".", b"a/b\\c", b"x" * 300, b"\xff\xfe", b"\x00",
    b"a\x00b.txt",
    b"text/plain", b"text/plain; charset=utf-16", b"X" * 20_000, b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Length: -1\r\n", b"\xc3\xb8.txt", b"con", b"a\r\nX: y", b'"', b"%00", b"%2e%2e%2f", b"_charset_",
)  # fmt: skip
UUID: Final = "00000000-0000-0000-0000-000000000005"
METHODS: Final = (
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "dispatch", "get",
    "X" * 500,
)  # fmt: skip
NAMES: Final = (
    "status", "name", "queue", "tag", "owner", "created_from", "created_to", "cursor", "limit", "wait", "after",
    "format", "_method", "page", "", "%00", "%ff", "x" * 3_000, "status[]", "status__in", "callback", "method",
)  # fmt: skip
VALUES: Final = (
    "", "x", "queued", "100", "-1", "0", "1", "200", "201", "1e3", "%D9%A1", "9" * 30, "9" * 900, "%00", "%ff",
    "%ED%A0%80", "%", "%zz",
    "x" * 1_001, "~", "1~", "~x", "-1~x", "9" * 25 + "~x", "1~" + "x" * 500, "0~0~0", "10000-01-01T00:00:00Z",
    "0001-01-01T00:00:00%2B23:59", "2026-01-01T00:00:00", "2026-01-01T00:00:00 01:00", "9999-12-31T23:59:59-23:59",
    "%27%20OR%201=1", "%25", "_", "*", "[", "%0d%0aX-Y:%20z", "null", "true", "%F0%9F%98%80", "GET", "DELETE",
)  # fmt: skip


def ids(random: Random, job_id: str) -> str:
    """A job's id, written in some way it may or may not be."""
    hexadecimal = job_id.replace("-", "")
    return random.choice(
        [
            job_id.upper(), hexadecimal, "{" + job_id + "}", f"urn:uuid:{job_id}", "urn:" * 3_000 + job_id,
            f" {job_id} ",
            job_id + "\n", job_id + "\x00", "\x00", "-" * 32, "_".join(job_id), job_id[:-1], job_id + "0",
            "x" * 10_000, "0", "-1",
            "١" * 32, "１" * 32, "+" + hexadecimal[1:], hexadecimal[:15] + "_" + hexadecimal[16:],
            "0x" + hexadecimal[2:],
            "..", ".", "%00", "../" + job_id, job_id + "/../" + job_id, "batch", "queues", "health", "ø",
            "\u202e" + job_id, "null",
            "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", str(uuid4()), "*", "{",
            "}", "'", '"',
        ]
    )  # fmt: skip


class Mutations:
    """An endless row of requests, the same for the same seed. Each of them has one or two things that are odd."""

    methods: Sequence[str] = METHODS

    def __init__(self, seed: int, jobs: Callable[[], Sequence[str]]) -> None:
        self._random = Random(seed)
        self._jobs = jobs  # the ids of those that are there by then

    def __iter__(self) -> Iterator[Sent]:
        makers = self._makers()
        while True:
            [maker] = self._random.choices([*makers], weights=[*makers.values()])
            sent = maker()
            if self._random.random() < 0.3:
                sent = self._odd_header(sent)
            if self._random.random() < 0.05:
                sent = sent._replace(method=self._random.choice(self.methods))
            yield sent

    def _makers(self) -> dict[Callable[[], Sent], int]:
        """What makes requests, and how often in proportion to the others."""
        return {self._submission: 6, self._batch: 2, self._list: 2, self._job: 4, self._staff: 1}

    def _submission(self) -> Sent:
        return Sent("POST", URL, body=self._odd_body(self._odd_value(self._random.choice(SUBMISSIONS))))

    def _batch(self) -> Sent:
        jobs: list[Any] = [self._random.choice(SUBMISSIONS) for _ in range(self._random.choice((0, 1, 2, 5)))]
        if jobs and self._random.random() < 0.7:
            jobs[self._random.randrange(len(jobs))] = self._odd_value(jobs[0])
        others: list[Any] = [jobs, {"jobs": {}}, {"job": jobs}, None]
        body = {"jobs": jobs} if self._random.random() < 0.8 else self._random.choice(others)
        return Sent("POST", URL + "batch/", body=self._odd_body(body))

    def _list(self) -> Sent:
        return Sent("GET", URL, query=self._odd_query(self._random.choice(QUERIES)))

    def _job(self) -> Sent:
        job_id = self._random.choice(self._jobs())
        if self._random.random() < 0.6:
            job_id = ids(self._random, job_id)
        part = self._random.choice(("", "result/", "log/", "events/", "cancel/", "retry/", ""))
        if part in ("cancel/", "retry/"):
            body = self._odd_body(self._random.choice(({"reason": "x"}, {}, None, [], *ODD)))
            return Sent("POST", URL + job_id + "/" + part, body=body)
        query = self._odd_query(self._random.choice(JOB_QUERIES)) if self._random.random() < 0.5 else ""
        return Sent(
            self._random.choice(("GET", "GET", "GET", "HEAD", "DELETE")), URL + job_id + "/" + part, query=query
        )

    def _staff(self) -> Sent:
        choice = self._random.choice
        match choice(
            ("queues/", "workers/", "handlers/", "health/", "handlers/tests.api.jobs.add/", "handler", "queue")
        ):
            case "handler":
                return Sent("GET", URL + f"handlers/{choice(NAMES)}/")
            case "queue":
                path = URL + f"queues/{choice(('default', 'slow', *NAMES))}/{choice(('pause', 'resume'))}/"
                body = self._odd_value({"reason": "x", choice(("until", "for")): self._odd()})
                return Sent("POST", path, body=self._odd_body(body))
            case part:
                return Sent("GET", URL + part, query=self._odd_query(""))

    def _odd_value(self, body: Any) -> Any:
        """One value, key or field of it is another one."""
        body = deepcopy(body)
        inside = list(_containers(body))
        where = self._random.choice(inside)
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        choice = self._random.random()
        if keys and choice < 0.7:
            where[self._random.choice(keys)] = self._odd()
        elif isinstance(where, dict):
            where[self._random.choice(KEYS)] = self._odd()
        else:
            where.append(self._odd())
        return body

    def _odd(self) -> Any:
        return f"@{self._random.randrange(len(RAW))}@" if self._random.random() < 0.3 else self._random.choice(ODD)

    def _odd_body(self, body: Any) -> bytes:
        text = json.dumps(body, ensure_ascii=self._random.random() < 0.5)
        for number in range(len(RAW)):
            text = text.replace(f'"@{number}@"', RAW[number])
        written = text.encode(errors="surrogatepass")
        choice = self._random.random()
        if choice < 0.8:
            return written
        if choice < 0.9:
            at = self._random.randrange(len(written) + 1)
            return written[:at] + self._random.choice(BYTES) + written[at + self._random.choice((0, 1, 5)) :]
        return self._random.choice(
            [
                b"", b" ", b"null", b"x", written[: len(written) // 2], written + b"x", text.encode("utf-16",
                "surrogatepass"),
                b"\xef\xbb\xbf" + written, gzip.compress(written), b"[" * 100_000, b'{"a":' * 100_000,
                written + b" " * 100_000,
                b'{"name":"' + b"x" * 100_000 + b'"}',
                b'{"name":"x","kwargs":{' + b",".join(b'"%d":0' % n for n in range(10_000)) + b"}}",
                b"[" + b"0," * 40_000 + b"0]", b"a=b&name=x",
                b"--x\r\nContent-Disposition: form-data; name=name\r\n\r\nx\r\n--x--\r\n",
            ]
        )  # fmt: skip

    def _odd_header(self, sent: Sent) -> Sent:
        choice = self._random.random()
        odd: dict[str, str | None]
        if choice < 0.3:
            odd = {"Content-Type": self._random.choice(CONTENT_TYPES)}
        elif choice < 0.4:
            odd = {"Content-Encoding": self._random.choice(ENCODINGS)}
        elif choice < 0.5:
            odd = {"Content-Length": self._random.choice(LENGTHS)}
        else:
            odd = {
                self._random.choice(HEADERS): self._random.choice(JUNK) for _ in range(self._random.choice((1, 1, 3)))
            }
        return sent._replace(headers={**sent.headers, **odd})

    def _odd_query(self, query: str) -> str:
        pairs = [pair for pair in query.split("&") if pair]
        choice = self._random.random()
        if pairs and choice < 0.4:
            at = self._random.randrange(len(pairs))
            pairs[at] = pairs[at].partition("=")[0] + "=" + self._random.choice(VALUES)
        elif choice < 0.8:
            pairs.append(self._random.choice(NAMES) + "=" + self._random.choice(VALUES))
        elif choice < 0.85:
            pairs += [f"x{number}=1" for number in range(self._random.choice((50, 2_000)))]
        else:
            pairs.append("".join(self._random.choices(string.printable.strip(), k=40)))
        return "&".join(pairs)


class EndpointMutations(Mutations):
    """Requests for asynchronous endpoints: what is in their path is the view's, and so is the form of their body."""

    methods = ("POST", "PUT", "PATCH", "DELETE")  # the others are the view's own

    def _makers(self) -> dict[Callable[[], Sent], int]:
        return {self._json: 3, self._text: 2, self._form: 2, self._files: 3}

    def _json(self) -> Sent:
        path = self._random.choice(("/mirror/", "/polite/", f"/mirror/1/{UUID}/slug/a/b", f"/greet/{self._part()}/"))
        body = self._odd_body(self._odd_value({"name": "Ada", "times": 2}))
        return Sent("POST", path, query=self._odd_query("a=1&b=2&b=3"), body=body)

    def _text(self) -> Sent:
        path = f"/mirror/{self._part()}/{UUID}/{self._part()}/{self._part()}"
        body = self._random.choice(JUNK).encode() + self._random.choice(BYTES)
        return Sent("PUT", path, headers={"Content-Type": "text/plain"}, body=body)

    def _form(self) -> Sent:
        body = self._odd_query("name=Ada&times=2").encode()
        return Sent("POST", "/mirror/", headers={"Content-Type": "application/x-www-form-urlencoded"}, body=body)

    def _files(self) -> Sent:
        part = (
            b'--x\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: %s\r\n%s\r\nhello\r\n'
            % tuple(self._random.choice(FORM_WORDS) for _ in range(4))
        )
        body = part * self._random.choice((1, 1, 2, 150)) + self._random.choice((b"--x--\r\n", b"--x--", b"--x", b""))
        if self._random.random() < 0.3:
            at = self._random.randrange(len(body))
            body = body[:at] + self._random.choice(BYTES) + body[at + 3 :]
        kind = self._random.choice(("multipart/form-data; boundary=x",) * 5 + CONTENT_TYPES)
        return Sent("POST", self._random.choice(("/upload/", "/attach/")), headers={"Content-Type": kind}, body=body)

    def _part(self) -> str:
        return self._random.choice(
            ("1", "9" * 30, "-1", "slug", "a b", "\x00", "\n", "..", "%00", "ø", "\u202e", "x" * 9_000)
        )


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)
