"""A witness for any C2SP log: `countersign witness`, a small server with its own keys and memory.

It belongs on another host than the log, run by another person. It calls nobody, follows only the
logs that it is given, and cosigns with two keys of one name: Ed25519 (0x04) and ML-DSA-44 (0x06).
Monitors read what it cosigned last at `/<SHA-256 of the origin>/checkpoint`.

Not here: what is cosigned and what refused (`audit.witnesses.witness`), what is remembered
(`audit.witnesses.memory`).

Rules:
- Bodies, and heads (`gateway.surfaces.connections`), have a size limit and a deadline, so that
  silent or endless callers never delay the log.
- A cosignature leaves this process only after the memory of it is durable.

Source: https://c2sp.org/tlog-witness
"""

import asyncio
import dataclasses
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvicorn
from anyio import to_thread
from fastapi import FastAPI, Request, Response

from audit.errors import NoteError, WitnessError
from audit.signers.file import FileSigner, MlDsaSigner, Signer, load_cosigner, public_file
from audit.tlog.cosignature import cosign
from audit.tlog.note import COSIGNATURE_ED25519, SIGNATURES_MAX, Note, VerifierKey, parse_note
from audit.witnesses.memory import WitnessMemory
from audit.witnesses.witness import (
    BODY_BYTES_MAX,
    TEXT,
    WitnessAnswer,
    judge,
    malformed,
    parse_request,
    refuse_stranger,
)
from gateway.clock import wall_us
from gateway.errors import SettingsError
from gateway.surfaces.connections import BoundedConfig, ConnectionLimits, bound
from gateway.surfaces.witness.followed_logs import FollowedLogs, LogKeys

_log = logging.getLogger(__name__)
ED25519_KEY: Final = "witness-ed25519.key"
ML_DSA_KEY: Final = "witness-mldsa44.key"
READ_WITHIN_S: Final = 10.0
LIMITS: Final = ConnectionLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A witness's keys, memory and followed logs; safe from any thread."""

    signers: tuple[Signer, ...]
    memory: WitnessMemory
    logs: Callable[[], LogKeys]
    signing: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: bytes, time_s: int) -> WitnessAnswer:
        """Answer one `add-checkpoint`.

        Raises:
            WitnessError: when the memory does not work; nothing is cosigned then.
        """
        try:
            request = parse_request(body)
        except WitnessError as error:
            return malformed(error)
        logs = self.logs()
        if (refusal := refuse_stranger(request, logs)) is not None:
            return refusal
        checkpoint = request.checkpoint
        with self.memory.turn(checkpoint.origin) as seen:
            if (refusal := judge(request, seen)) is not None:
                _log.warning(
                    "refused origin=%s size=%d status=%d",
                    checkpoint.origin,
                    checkpoint.size,
                    refusal.status,
                )
                return refusal
            note = parse_note(checkpoint.note)
            with self.signing:
                lines = [cosign(note.text, signer, time_s) for signer in self.signers]
            keys = logs[checkpoint.origin]
            signed = [line for line in note.signatures if any(map(line.made_by, keys))]
            signed = signed[: SIGNATURES_MAX - len(lines)]  # all are verified; one would do
            kept = Note(text=note.text, signatures=(*signed, *lines))
            # a crash after this line leaves a remembered tree without an answer: the log asks
            # again, learns the size, and gets the cosignature of the same tree
            self.memory.remember(dataclasses.replace(checkpoint, note=kept.to_bytes()))
        return WitnessAnswer(status=200, body="".join(map(str, lines)).encode())


def build_witness(witness: Witness) -> FastAPI:
    """Return the witness as a web application."""
    app = FastAPI(title="Countersign witness", docs_url=None, redoc_url=None, openapi_url=None)

    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(READ_WITHIN_S):
                body = await _bounded(request)
        except TimeoutError:
            return _plain(408, "the body did not arrive in time")
        if body is None:
            return _plain(413, f"the body is larger than {BODY_BYTES_MAX} bytes")
        try:
            answer = await to_thread.run_sync(witness.answer, body, wall_us() // 1_000_000)
        except WitnessError:
            _log.exception("memory_failed")
            return _plain(500, "this witness cannot store its memory, so it does not cosign")
        # as a header: a text media type would get a charset
        return Response(answer.body, answer.status, {"Content-Type": answer.content_type})

    async def latest(origin_hash: str) -> Response:
        try:
            note = await to_thread.run_sync(witness.memory.latest, origin_hash)
        except WitnessError:
            _log.exception("memory_failed")
            return _plain(500, "this witness cannot read its memory")
        if note is None:
            return _plain(404, "this witness has cosigned no log of that origin")
        return Response(note, headers={"Content-Type": TEXT, "Cache-Control": "no-cache"})

    async def describe() -> Response:
        keys = [f"vkey {signer.vkey}\n" for signer in witness.signers]
        logs = [f"log {origin}\n" for origin in sorted(witness.logs())]
        return Response("".join(keys + logs), media_type="text/plain")

    app.add_api_route("/add-checkpoint", add_checkpoint, methods=["POST"])
    app.add_api_route("/{origin_hash}/checkpoint", latest, methods=["GET"])
    app.add_api_route("/", describe, methods=["GET"])
    return app


def open_witness(
    state: Path,
    logs: Sequence[str],
    keygen: str | None,
    on_change: Callable[[LogKeys], None] = lambda _: None,
) -> Witness:
    """Return the witness of a state folder.

    `keygen` is the name under which missing keys are made; None: the keys must exist. `logs` and
    `on_change` are those of `FollowedLogs`.

    Raises:
        SettingsError: when the witness has no keys, or a log's key is not a key.
        AuditError: when the folder or a key file cannot be used.
    """
    followed = FollowedLogs(logs, on_change)  # first, so that a refusal makes no keys
    if keygen is not None:
        make_keys(state, keygen)
    signers = load_keys(state)
    return Witness(signers=signers, memory=WitnessMemory(state), logs=followed.now)


def make_keys(state: Path, name: str) -> None:
    """Make the missing keys; existing ones stay.

    Raises:
        SettingsError: when no key can have this name, or existing keys have another name.
        KeyFileError: when a key cannot be written.
    """
    ed25519, ml_dsa = state / ED25519_KEY, state / ML_DSA_KEY
    _check_name(name, (ed25519, ml_dsa))
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not ed25519.exists():
        FileSigner.generate(ed25519, name, COSIGNATURE_ED25519)
    if not ml_dsa.exists():
        MlDsaSigner.generate(ml_dsa, name)
    for path in (ed25519, ml_dsa):  # a crash can leave a key without its public file
        if not public_file(path).exists():
            public_file(path).write_text(f"{load_cosigner(path, name).vkey}\n", encoding="utf-8")


def _check_name(name: str, paths: Sequence[Path]) -> None:
    try:
        VerifierKey(name=name, public_key=bytes(32))
        files = [public_file(path) for path in paths]
        there = [VerifierKey.parse(one.read_text("utf-8")) for one in files if one.exists()]
    except (NoteError, UnicodeDecodeError) as error:
        raise SettingsError(name="--keygen", problem=str(error)) from error
    if others := {key.name for key in there} - {name}:
        problem = f"the keys in {paths[0].parent} are of {', '.join(others)}: leave --keygen out"
        raise SettingsError(name="--keygen", problem=problem)


def load_keys(state: Path) -> tuple[Signer, ...]:
    """Return the witness's signers, named as in the public files.

    Raises:
        SettingsError: when a key is missing, or its public file is not its own.
        KeyFileError: when a key cannot be read, or others can read it.
    """
    signers = []
    for path in (state / ED25519_KEY, state / ML_DSA_KEY):
        try:
            public = VerifierKey.parse(public_file(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, NoteError) as error:
            raise SettingsError(
                name="--state",
                problem=f"no witness key in {state}; make one with --keygen NAME",
            ) from error
        signer = load_cosigner(path, public.name)
        if signer.vkey != public:
            raise SettingsError(
                name="--state", problem=f"{public_file(path).name} is not the key in {path.name}"
            )
        signers.append(signer)
    return tuple(signers)


def policy_text(signers: Sequence[Signer], logs: LogKeys, url: str) -> str:
    """Return a policy file for the log's settings, which requires both of a witness's keys.

    A log whose key is not named like its origin cannot stand in a policy: a comment says so.
    """
    known = [
        f"log {key}" if key.name == origin else f"# the key of {origin} is named {key.name}"
        for origin, keys in logs.items()
        for key in keys
    ]
    names = [f"w{number}" for number in range(1, len(signers) + 1)]
    lines = [
        f"witness {name} {signer.vkey} {url}" for name, signer in zip(names, signers, strict=True)
    ]
    group = f"group both all {' '.join(names)}"
    return "".join(f"{line}\n" for line in [*known, *lines, group, "quorum both"])


def serve_witness(
    state: Path,
    logs: Sequence[str],
    listen: str,
    url: str | None,
    keygen: str | None,
    limits: ConnectionLimits = LIMITS,
) -> int:
    """Serve until a signal; return the exit code.

    `listen` is HOST:PORT, where port 0 takes a free one. `url` is where the log reaches this
    witness, for the policy file (None: where it listens). The others: see `open_witness`.

    Raises:
        SettingsError: when the address, a key or a log is not usable.
        AuditError: when the folder is not usable.
    """
    logging.basicConfig(level="INFO", format="%(levelname)s %(message)s")
    with _listening(listen) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        policy = state / "policy"

        def write_policy(keys: LogKeys) -> None:
            policy.write_text(policy_text(witness.signers, keys, url or shown), encoding="utf-8")

        def rewrite_policy(keys: LogKeys) -> None:
            try:
                write_policy(keys)
            except OSError:
                _log.exception("policy_not_written path=%s", policy)

        witness = open_witness(state, logs, keygen, rewrite_policy)
        write_policy(witness.logs())
        for signer in witness.signers:
            _say(f"vkey       {signer.vkey}")
        _say(f"policy     {policy}  (give it to the log and to verifiers)")
        _say(f"witness    {shown}, follows {', '.join(sorted(witness.logs()))}  (Ctrl-C ends)")
        bound(listener, limits)
        _run(uvicorn.Server(BoundedConfig(build_witness(witness), limits)), listener)
        witness.memory.close()
    return 0


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, which end it in order."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:  # the server raises its signal again after it has ended in order
        signal.signal(number, lambda *_: None)
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listening(listen: str) -> socket.socket:
    host, separator, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not (port.isascii() and port.isdigit()) or int(port) > 65_535 or not host:  # noqa: PLR2004 - the last port
        raise SettingsError(name="--listen", problem=f"{listen!r} is not HOST:PORT")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen()  # so that a reader of the printed address can connect at once
    except OSError as error:
        listener.close()
        raise SettingsError(
            name="--listen", problem=f"cannot listen on {listen} ({error.strerror})"
        ) from None
    return listener


async def _bounded(request: Request) -> bytes | None:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES_MAX:
            return None
    return bytes(body)


def _plain(status: int, text: str) -> Response:
    return Response(f"{text}\n", status, media_type="text/plain")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
