"""A webhook reaches its receiver, or nobody: real TLS on loopback."""

import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest

from asyncjobs.api.webhooks.callbacks import Receiver
from asyncjobs.api.webhooks.sending import Resolve, Sender, default_tls, resolve
from asyncjobs.errors import WebhookFailed
from tests.api import receiver as receivers
from tests.api.receiver import HOST, make_certificate, receiving, sender_to_loopback, status, trusting

HEADERS = {"webhook-id": "msg_1"}
SHORT = 0.3


def at(port: int, host: str = HOST) -> Receiver:
    return Receiver(host, port, "/told?token=canary")


def answering(*addresses: str) -> Resolve:
    def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


def fails(sender: Sender, receiver: Receiver) -> str:
    """What the failure says."""
    with pytest.raises(WebhookFailed) as failed:
        sender.post(receiver, b"{}", HEADERS)
    assert "canary" not in str(failed.value)
    assert failed.value.__cause__ is None
    return failed.value.message


def test_a_request_is_plain_and_complete(receiver: receivers.Receiver, certificate: Path) -> None:
    assert sender_to_loopback(certificate).post(at(receiver.server_port), b'{"a": 1}', HEADERS) == 200
    [(path, headers, body)] = receiver.received
    assert (path, body) == ("/told?token=canary", b'{"a": 1}')
    agent = headers.pop("user-agent")
    assert agent.startswith("asyncjobs/")
    assert headers == {
        "host": receiver.authority,
        "content-type": "application/json",
        "content-length": "8",
        "connection": "close",
        "webhook-id": "msg_1",
    }


@pytest.mark.parametrize("code", [204, 400, 410, 500, 503])
def test_the_status_is_what_the_receiver_answered(receiver: receivers.Receiver, certificate: Path, code: int) -> None:
    receiver.answers.append(status(code))
    assert sender_to_loopback(certificate).post(at(receiver.server_port), b"{}", HEADERS) == code


def test_a_redirect_is_not_followed(receiver: receivers.Receiver, certificate: Path) -> None:
    receiver.answers.append(status(307, Location=receiver.url))
    assert sender_to_loopback(certificate).post(at(receiver.server_port), b"{}", HEADERS) == 307
    assert len(receiver.received) == 1


def test_a_proxy_of_the_environment_is_not_used(
    receiver: receivers.Receiver, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert sender_to_loopback(certificate).post(at(receiver.server_port), b"{}", HEADERS) == 200


@pytest.mark.parametrize("answer", [receivers.drip, receivers.silence])
def test_a_receiver_that_takes_its_time_is_cut_off(
    receiver: receivers.Receiver, certificate: Path, answer: receivers.Answer
) -> None:
    receiver.answers.append(answer)
    start = time.monotonic()
    said = fails(sender_to_loopback(certificate, timeout=SHORT), at(receiver.server_port))
    assert SHORT * 0.9 <= time.monotonic() - start < SHORT + 2
    assert said == f"{receiver.authority} gave no answer: TimeoutError"


def test_a_receiver_that_never_shakes_hands_is_cut_off(certificate: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        start = time.monotonic()
        assert "TimeoutError" in fails(sender_to_loopback(certificate, timeout=SHORT), at(server.getsockname()[1]))
    assert time.monotonic() - start < SHORT + 2


def test_headers_of_any_size_are_not_read(receiver: receivers.Receiver, certificate: Path) -> None:
    receiver.answers.append(receivers.flood)
    assert "HTTPException" in fails(sender_to_loopback(certificate), at(receiver.server_port))


def test_a_large_body_is_not_read(receiver: receivers.Receiver, certificate: Path) -> None:
    receiver.answers.append(receivers.fill)
    assert sender_to_loopback(certificate).post(at(receiver.server_port), b"{}", HEADERS) == 200
    receiver.close()
    assert receiver.filled < 1_000 * 65_536


def test_what_is_no_answer_is_a_failure(receiver: receivers.Receiver, certificate: Path) -> None:
    receiver.answers.append(receivers.babble)
    assert "BadStatusLine" in fails(sender_to_loopback(certificate), at(receiver.server_port))


def test_a_receiver_that_is_down_is_a_failure(certificate: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert fails(sender_to_loopback(certificate), at(port)).endswith("ConnectionRefusedError")


def test_a_certificate_of_an_authority_nobody_knows_is_refused(receiver: receivers.Receiver) -> None:
    sender = Sender(timeout=5, resolve=answering("127.0.0.1"), is_public=lambda address: True)
    assert "SSLCertVerificationError" in fails(sender, at(receiver.server_port))
    assert receiver.received == []


def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path, "other.example.com")
    with receiving(certificate) as receiver:
        said = fails(sender_to_loopback(certificate), at(receiver.server_port))
        assert "SSLCertVerificationError" in said
        assert receiver.received == []
        assert (
            sender_to_loopback(certificate).post(at(receiver.server_port, "other.example.com"), b"{}", HEADERS) == 200
        )


def test_the_usual_checks_of_certificates_are_on() -> None:
    assert default_tls().check_hostname
    assert default_tls().verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["0.0.0.0"],
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        [],
    ],
    ids=str,
)
def test_one_address_that_is_not_public_condemns_the_host(
    receiver: receivers.Receiver, certificate: Path, addresses: list[str]
) -> None:
    sender = Sender(timeout=5, resolve=answering(*addresses), tls=trusting(certificate))
    assert fails(sender, at(receiver.server_port)) == f"{receiver.authority} is not at a public address"
    assert receiver.received == []


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1", "0"])
def test_no_way_to_write_loopback_leads_there(receiver: receivers.Receiver, certificate: Path, host: str) -> None:
    assert set(resolve(host, 443)) <= {"127.0.0.1", "::1", "0.0.0.0"}
    sender = Sender(timeout=5, tls=trusting(certificate))
    assert "is not at a public address" in fails(sender, at(receiver.server_port, host))
    assert receiver.received == []


def test_a_host_is_resolved_once(receiver: receivers.Receiver, certificate: Path) -> None:
    """A second answer could be another one than was checked."""
    asked = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    sender = Sender(timeout=5, resolve=resolve, is_public=lambda address: True, tls=trusting(certificate))
    assert sender.post(at(receiver.server_port), b"{}", HEADERS) == 200
    assert asked == [(HOST, receiver.server_port)]


@pytest.mark.parametrize("error", [socket.gaierror(-2, "unknown"), UnicodeError("no label"), OSError()])
def test_a_host_that_cannot_be_resolved_is_a_failure(error: Exception) -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        raise error

    assert type(error).__name__ in fails(Sender(timeout=5, resolve=resolve), at(443))


def test_a_resolver_that_takes_its_time_is_cut_off() -> None:
    is_over = Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        is_over.wait(20)
        return ["127.0.0.1"]

    assert "TimeoutError" in fails(Sender(timeout=SHORT, resolve=resolve), at(443))
    is_over.set()


def test_an_address_that_is_dead_leaves_time_for_the_next(receiver: receivers.Receiver, certificate: Path) -> None:
    addresses = answering("127.0.0.9", "127.0.0.1")
    sender = Sender(timeout=SHORT, resolve=addresses, is_public=lambda address: True, tls=trusting(certificate))
    with deaf("127.0.0.9", receiver.server_port):
        assert sender.post(at(receiver.server_port), b"{}", HEADERS) == 200


@contextmanager
def deaf(address: str, port: int) -> Iterator[None]:
    """A server that takes no connection and refuses none: its queue is full."""
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.socket())
        server.bind((address, port))
        server.listen(0)
        for _ in range(4):
            caller = sockets.enter_context(socket.socket())
            caller.settimeout(0)
            caller.connect_ex((address, port))
        yield
