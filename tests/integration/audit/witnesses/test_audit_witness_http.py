"""The client against witnesses that misbehave, and the real witness process over real HTTP."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from audit.errors import WitnessError
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.note import NoteSignature, parse_note
from audit.tlog.policy import QuorumPolicy
from audit.witnesses.client import Conflict, Cosigned, Refused, WitnessClient
from audit.witnesses.witness import BODY_BYTES_MAX, encode_request
from gateway import clock
from tests.doubles.cosigners import LOG, QUANTUM_SAFE, WITNESSES, Cosigner
from tests.doubles.memory_tree import consistency_path
from tests.doubles.witness_process import WitnessProcess, serving, witness_process

LEAVES = [leaf_hash(bytes([n])) for n in range(60)]
NOTE = make_checkpoint(9, root_of(LEAVES[:9]), LOG)
TEXT = parse_note(NOTE.note).text
KEYS = (WITNESSES[0].vkey, QUANTUM_SAFE.vkey)
STRANGER = Cosigner("log.example/b", 1, 1)
GOOD = str(cosign(TEXT, WITNESSES[0], 5)).encode()
LARGE = str(NoteSignature(name="w.example/large", key_id=bytes(4), signature=bytes(5_000))).encode()


def asked(url: str, timeout_s: float = 2.0) -> object:
    client = WitnessClient(url, KEYS, timeout_s)
    try:
        return client.add_checkpoint(0, (), NOTE.note)
    finally:
        client.close()


def answering(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def http_answer(status: str, body: bytes, kind: str = "text/plain", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http_answer("200 OK", GOOD), Cosigned),
        (http_answer("200 OK", str(cosign(TEXT, WITNESSES[1], 5)).encode() + GOOD), Cosigned),
        (http_answer("409 Conflict", b"17\n", "text/x.tlog.size"), Conflict(size=17)),
        (
            http_answer("409 Conflict", b"17\n", "Text/X.tlog.size; charset=utf-8"),
            Conflict(size=17),
        ),
        (http_answer("409 Conflict", b"17", "text/x.tlog.size"), "does not end"),
        (http_answer("409 Conflict", b"-1\n", "text/x.tlog.size"), "decimal"),
        (http_answer("409 Conflict", b"\xff\n", "text/x.tlog.size"), "not an answer"),
        (http_answer("409 Conflict", b"17\n"), "without a size"),
        (http_answer("200 OK", b""), "no cosignature"),
        (http_answer("200 OK", str(cosign(TEXT, WITNESSES[0], 0)).encode()), "does not say when"),
        (http_answer("200 OK", b"yes\n"), "dash"),
        (http_answer("200 OK", b"\xff\xfe"), "not an answer"),
        (http_answer("200 OK", GOOD[:-1]), "newline"),
        (http_answer("200 OK", GOOD + GOOD), "twice"),
        (http_answer("200 OK", str(cosign(TEXT, WITNESSES[1], 5)).encode()), "no cosignature"),
        (
            http_answer("200 OK", str(cosign(TEXT.replace("9", "8"), WITNESSES[0], 5)).encode()),
            "does not verify",
        ),
        (http_answer("403 Forbidden", b"no\n"), "HTTP 403: no"),
        (http_answer("404 Not Found", b"who\x1b[31m are you\n"), "HTTP 404: who [31m are you"),
        (http_answer("422 Unprocessable", b""), "HTTP 422"),
        (http_answer("500 Oops", b"x" * 5_000), "HTTP 500: xxx"),
        (http_answer("200 OK", LARGE * 15 + GOOD), Cosigned),
        (http_answer("200 OK", b"x" * 140_000), "more than 131072 bytes"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ""),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n", ""),
        (b"", ""),
    ],
)
def test_an_answer_is_used_only_if_it_is_one(answer: bytes, expected: object) -> None:
    with serving(answering(answer)) as url:
        outcome = asked(url)
    if isinstance(expected, str):
        assert isinstance(outcome, Refused)
        assert expected in outcome.why
    elif isinstance(expected, type):
        assert isinstance(outcome, Cosigned)
        assert [line.name for line in outcome.lines] == ["w0.example"]
    else:
        assert outcome == expected


def certificate(folder: Path, host: str) -> Path:
    """Write a certificate that signs itself, for an address, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "witness")])
    now = datetime.fromtimestamp(clock.wall_us() / 1e6, UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(address, critical=False)
        .sign(key, SHA256())
    )
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / f"{host}.pem"
    path.write_bytes(key.private_bytes(*form) + made.public_bytes(Encoding.PEM))
    return path


def test_a_witness_over_tls_is_who_its_certificate_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, trusted, why in (
        ("127.0.0.1", True, None),
        ("127.0.0.1", False, "self-signed certificate"),
        ("127.0.0.2", True, "IP address mismatch"),
    ):
        pem = certificate(tmp_path, host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem if trusted else tmp_path / "none"))
        with serving(answering(http_answer("200 OK", GOOD)), context) as url:
            outcome = asked(url)
        if why is None:
            assert isinstance(outcome, Cosigned)
        else:
            assert isinstance(outcome, Refused)
            assert why in outcome.why


def test_it_asks_nobody_else() -> None:
    called: list[str] = []

    def note_it(connection: socket.socket) -> None:
        called.append(str(connection.getpeername()))

    with serving(note_it) as elsewhere:
        moved = http_answer("302 Found", b"", more=f"Location: {elsewhere}/add-checkpoint\r\n")
        with serving(answering(moved)) as url:
            outcome = asked(url)
    assert isinstance(outcome, Refused)
    assert outcome.status == 302
    assert called == []


def test_it_waits_as_long_as_a_witness_asks_but_not_for_ever() -> None:
    for header, seconds in (("7", 7.0), ("100000", 600.0), ("-1", 0.0), ("soon", 0.0)):
        busy = http_answer("429 Busy", b"", more=f"Retry-After: {header}\r\n")
        with serving(answering(busy)) as url:
            outcome = asked(url)
        assert isinstance(outcome, Refused)
        assert (outcome.status, outcome.retry_after_s) == (429, seconds)


def drip(connection: socket.socket) -> None:
    for byte in http_answer("200 OK", GOOD * 100):
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def endless(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)


def silent(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


@pytest.mark.parametrize("answer", [drip, endless, silent])
def test_a_slow_witness_costs_its_deadline_and_no_more(
    answer: Callable[[socket.socket], None],
) -> None:
    with serving(answer) as url:
        began = time.monotonic()
        outcome = asked(url, timeout_s=0.4)
        assert time.monotonic() - began < 10, "a call ends though the peer does not"
    assert isinstance(outcome, Refused)
    assert "no answer in 0.4 s" in outcome.why


def test_a_witness_that_is_not_there_is_a_refusal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert isinstance(asked(url), Refused)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://w.example",
        "w.example:80",
        "http://",
        "http://user@w.example/",
        "http://w.example/?q",
        "http://w.example/#f",
        "http://w.example:99999/",
        "http://w.example:0/",
        "http://w.example/a b\n",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_plain_addresses_are_taken(url: str) -> None:
    with pytest.raises(WitnessError):
        WitnessClient(url, KEYS, 1.0)


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WitnessProcess]:
    with witness_process(tmp_path_factory.mktemp("witness"), [str(LOG.vkey)]) as process:
        yield process


def post(url: str, body: bytes, path: str = "/add-checkpoint") -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", path, body=body)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read()
    finally:
        connection.close()


def fetch(url: str, path: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read()
    finally:
        connection.close()


def body_of(old: int, size: int) -> bytes:
    head = make_checkpoint(size, root_of(LEAVES[:size]), LOG)
    return encode_request(old, consistency_path(LEAVES[:size], old), head.note)


def test_the_witness_speaks_http_as_the_protocol_says(witness: WitnessProcess) -> None:
    plain, size = "text/plain; charset=utf-8", "text/x.tlog.size"
    status, kind, lines = post(witness.url, body_of(0, 9))
    assert (status, kind) == (200, plain)
    policy = QuorumPolicy.parse(witness.policy)
    note = parse_note(NOTE.note + lines)
    satisfied = policy.satisfied_by(note)
    assert {w.key.key_type for w in satisfied.witnesses} == {4, 6}
    assert post(witness.url, body_of(0, 20)) == (409, size, b"9\n")
    forked = make_checkpoint(20, root_of(LEAVES[30:50]), LOG)
    proof = consistency_path(LEAVES[30:50], 9)
    assert post(witness.url, encode_request(9, proof, forked.note))[:2] == (422, plain)
    assert post(witness.url, b"old 1")[:2] == (400, plain)
    stranger = make_checkpoint(9, root_of(LEAVES[:9]), STRANGER)
    assert post(witness.url, encode_request(9, (), stranger.note))[:2] == (404, plain)
    assert post(witness.url, b"x" * (BODY_BYTES_MAX + 1))[0] == 413
    assert post(witness.url, b"", "/other")[0] == 404
    client = WitnessClient(witness.url + "/", [w.key for w in policy.witnesses], 5.0)
    for old in range(9, 40):
        head = make_checkpoint(old + 1, root_of(LEAVES[: old + 1]), LOG)
        outcome = client.add_checkpoint(old, consistency_path(LEAVES[: old + 1], old), head.note)
        assert isinstance(outcome, Cosigned)
        assert len(outcome.lines) == 2
    client.close()
    place = sha256(LOG.vkey.name.encode()).hexdigest()
    status, kind, kept = fetch(witness.url, f"/{place}/checkpoint")
    assert (status, kind) == (200, plain)
    assert policy.satisfied_by(parse_note(kept)).head.size == 40
    for other in (sha256(b"log.example/b").hexdigest(), place.upper(), "..", "x"):
        assert fetch(witness.url, f"/{other}/checkpoint")[:2] == (404, plain)


def test_a_second_witness_on_the_same_state_refuses(witness: WitnessProcess) -> None:
    with (
        pytest.raises(AssertionError, match="did not start"),
        witness_process(witness.state, [str(LOG.vkey)]),
    ):
        pass
