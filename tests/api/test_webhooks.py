"""Where webhooks may go, and what they say."""

import json
import re
import time
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from asyncjobs.api.webhooks import CALLBACK, callback_of, check_callback, delivery_of
from asyncjobs.api.webhooks.addresses import is_public
from asyncjobs.api.webhooks.callbacks import Receiver, allowed_receiver
from asyncjobs.api.webhooks.delivering import deliver, longest_ms
from asyncjobs.api.webhooks.message import Message, message_of, signed
from asyncjobs.conf import Conf
from asyncjobs.conf_api import WebhookConf
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJob, WebhookFailed, WebhookRefused
from asyncjobs.reading import DAY_MS
from asyncjobs.registry import handlers, is_internal
from tests.api.receiver import SECRET
from tests.test_docs import DOCS

CONF = WebhookConf(
    hosts=("hooks.example.com", "*.example.org", "other.example.com:8443", "*.example.net:444"), secrets=(SECRET,)
)
JOB = Job(id="4f2c0c3e-7a61-4b0c-9d5c-0c6f9f4f8a11", name="shop.jobs.pack", created_at=1_700_000_000_000)
DONE = JOB.replace(status=JobStatus.COMPLETED, completed_at=1_700_000_001_250, result='"secret"')
URL = "https://hooks.example.com/told?token=canary"

ALLOWED = [
    URL,
    "https://hooks.example.com",
    "https://hooks.example.com:443/",
    "HTTPS://Hooks.Example.COM/Path",
    "https://hooks.example.com?at=/@:",
    "https://hooks.example.com/a/../b%2e\\c",
    "https://a.example.org/",
    "https://a.b-c.d_e.example.org/",
    "https://other.example.com:8443/",
    "https://a.example.net:444/",
    "https://hooks.example.com/".ljust(2_000, "x"),
]
REFUSED = [
    "http://hooks.example.com/",
    "ftp://hooks.example.com/",
    "//hooks.example.com/",
    "hooks.example.com",
    "https:hooks.example.com",
    "https:///hooks.example.com",
    "",
    "https://",
    "https://example.com/",
    "https://evil.com/hooks.example.com",
    "https://hooks.example.com.evil.com/",
    "https://xhooks.example.com/",
    "https://a.hooks.example.com/",
    "https://hooks.example.com./",
    "https://example.org/",
    "https://.example.org/",
    "https://a..example.org/",
    "https://xexample.org/",
    "https://hooks.example.com:8443/",
    "https://hooks.example.com:80/",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:/",
    "https://hooks.example.com:443443/",
    "https://other.example.com/",
    "https://a.example.net/",
    "https://hooks.example.com@evil.com/",
    "https://evil.com@hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://evil.com\\@hooks.example.com/",
    "https://evil.com\\.example.org/",
    "https://evil.com%2f.example.org/",
    "https://hooks%2eexample.com/",
    "https://[hooks.example.com]/",
    "https://[::1]/",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://hooks.example.com/#",
    "https://hooks.example.com/#part",
    " https://hooks.example.com/",
    "https://hooks.example.com/ ",
    "https://hooks.example.com/a b",
    "https://hooks.example.com/\r\nX: y",
    "https://hooks.example.com/\0",
    "https://hooks.example.com/\x7f",
    "https://hooks.example.com/ü",
    "https://hoo\N{KELVIN SIGN}s.example.com/",
    "https://hooks.example.com:\N{FULLWIDTH DIGIT FOUR}43/",
    "https://hooks.example.com/".ljust(2_001, "x"),
    None,
    ["https://hooks.example.com/"],
]


@pytest.mark.parametrize("url", ALLOWED, ids=lambda url: ascii(url)[:60])
def test_a_callback_may_go_to_an_allowed_host(url: str) -> None:
    assert check_callback(url, CONF) == url


@pytest.mark.parametrize("url", REFUSED, ids=lambda url: ascii(url)[:60])
def test_a_callback_may_go_nowhere_else(url: str) -> None:
    with pytest.raises(InvalidJob):
        check_callback(url, CONF)


def test_without_hosts_there_are_no_webhooks() -> None:
    with pytest.raises(InvalidJob, match="off"):
        check_callback(URL, WebhookConf())


@pytest.mark.parametrize("url", ["https://evil.com/told?token=canary", "https://hooks.example.com/?token=canary#x"])
def test_a_refusal_shows_nothing_of_the_url_but_its_host(url: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        check_callback(url, CONF)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("https://Hooks.example.com", "/", "hooks.example.com"),
        ("https://hooks.example.com:443?a=/", "/?a=/", "hooks.example.com"),
        ("https://other.example.com:8443/A?b", "/A?b", "other.example.com:8443"),
    ],
)
def test_a_url_is_read_in_one_way(url: str, target: str, authority: str) -> None:
    receiver = allowed_receiver(url, CONF)
    assert (receiver.target, receiver.authority) == (target, authority)
    assert isinstance(receiver, Receiver)


PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1", "2002:101:101::1"]
NOT_PUBLIC = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "192.88.99.1",
    "168.63.129.16",
    "198.18.0.1",
    "224.0.0.1",
    "232.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "4000::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_behind_which_there_may_be_something_of_ours_is_not_public(address: str) -> None:
    assert not is_public(address)


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The example that the specification's own libraries are tested with; `openssl dgst` agrees."""
    secret = b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    message = Message("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    assert signed(message, [secret], at=1_614_265_330) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_secret_makes_a_signature() -> None:
    message = message_of(DONE)
    one, other = (signed(message, [secret], at=5)["webhook-signature"] for secret in (SECRET, SECRET[::-1]))
    assert signed(message, [SECRET, SECRET[::-1]], at=5)["webhook-signature"] == f"{one} {other}"
    assert one != other


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED])
def test_a_message_names_the_job_and_how_it_ended_and_no_more(status: JobStatus) -> None:
    word = status.name.lower()
    assert json.loads(message_of(DONE.replace(status=status)).body) == {
        "type": f"job.{word}",
        "timestamp": "2023-11-14T22:13:21.250Z",
        "data": {"id": JOB.id, "name": JOB.name, "status": word},
    }


def test_the_id_of_a_message_stands_for_one_end_of_one_job() -> None:
    other_ends = [
        DONE.replace(completed_at=1_700_000_001_251),
        DONE.replace(status=JobStatus.FAILED),
        DONE.replace(id="4f2c0c3e-7a61-4b0c-9d5c-0c6f9f4f8a12"),
    ]
    assert message_of(DONE) == message_of(DONE.replace(version=9, updated_at=1))
    assert len({message_of(job).id for job in (DONE, *other_ends)}) == 4
    assert "." not in message_of(DONE).id


def test_a_delivery_is_the_same_however_often_it_is_made() -> None:
    job = JOB.replace(headers={CALLBACK: [URL]}, owner="7", tags=("a",), queue="shop")
    delivery = delivery_of(job, URL, replace(CONF, queue="out"))
    assert delivery == delivery_of(job, URL, replace(CONF, queue="out"))
    assert delivery != delivery_of(job.replace(id=str(UUID(int=1))), URL, CONF)
    assert (delivery.name, delivery.queue, delivery.owner, delivery.tags) == (deliver.name, "out", None, ())
    assert (delivery.status, delivery.due_at) == (JobStatus.SCHEDULED, job.created_at + 1_000)
    assert UUID(delivery.id) != UUID(job.id)


def test_the_callback_of_a_job_is_among_its_headers() -> None:
    assert callback_of(JOB) is None
    assert callback_of(JOB.replace(headers={"X-Tenant": ["a"]})) is None
    assert callback_of(JOB.replace(headers={CALLBACK: [URL], "X-Tenant": ["a"]})) == URL


def test_a_delivery_is_tried_for_about_three_days() -> None:
    waits = [deliver.retry.delay(count, 0.5) or 0 for count in range(deliver.options.max_retries)]
    assert waits[0] == 15_000
    assert 2 <= sum(waits) / DAY_MS <= 4
    assert longest_ms() == 2 * sum(waits) < (Conf().retention[JobStatus.COMPLETED] or 0)


def test_only_a_refusal_ends_the_tries() -> None:
    assert deliver.retry.allows(WebhookFailed)
    assert not deliver.retry.allows(WebhookRefused)


def warnings_of(**given: Any) -> list[str]:
    secret = f"whsec_{b64encode(SECRET).decode()}"
    webhooks = {"HOSTS": ["hooks.example.com"], "SECRETS": [secret]}
    with override_settings(ASYNCJOBS={"API": {"WEBHOOKS": webhooks}} | given):
        return [message.msg for message in run_checks(tags=["asyncjobs"]) if message.id == "asyncjobs.W002"]


def test_jobs_that_are_removed_before_they_can_be_told_of_are_found() -> None:
    assert warnings_of() == []
    assert warnings_of(RETENTION={"completed": 86_400}, API={}) == []
    assert warnings_of(RETENTION={"completed": None}) == []
    [completed, canceled] = warnings_of(RETENTION={"completed": 86_400, "canceled": 5 * 86_400})
    assert "completed" in completed
    assert "canceled" in canceled
    assert warnings_of(RETENTION=5) == []


def test_the_receiver_in_the_documentation_knows_what_is_ours() -> None:
    [example] = re.findall(r"```python\n(import base64.*?)```", (DOCS / "how-to/webhooks.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    secret, other = (f"whsec_{b64encode(secret).decode()}" for secret in (SECRET, SECRET[::-1]))
    message, now = message_of(DONE), int(time.time())
    headers = signed(message, [SECRET[1:], SECRET], at=now)
    assert names["is_ours"](headers, message.body, secret)
    assert not names["is_ours"](headers, message.body, other)
    assert not names["is_ours"](headers, message.body + b" ", secret)
    assert not names["is_ours"](headers | {"webhook-id": "msg_2"}, message.body, secret)
    assert not names["is_ours"](signed(message, [SECRET], at=now - 400), message.body, secret)


def test_the_delivery_is_no_handler_of_the_site() -> None:
    assert deliver in handlers()
    assert is_internal(deliver)
