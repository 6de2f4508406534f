"""The log's side of tlog-witness: one HTTP request to one witness, bounded in time and size.

Rules:

- A call ends in time even if the peer sends a byte a second: at the deadline the socket is shut.
- No answer is read beyond `ANSWER_BYTES_MAX`. No redirect is followed and no proxy used.
- Only cosignatures of trusted keys that verify and state a time are returned.

Source: https://c2sp.org/tlog-witness
"""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from audit.errors import NoteError, WitnessError
from audit.tlog.cosignature import verify_signatures
from audit.tlog.note import Note, NoteSignature, VerifierKey, parse_note, parse_signature_lines
from audit.tlog.treehead import parse_size
from audit.witnesses.witness import SIZE_TYPE, Status, encode_request

ANSWER_BYTES_MAX = 131_072
"""Enough for 16 signatures of nearly 5 kB (signed-note)."""
RETRY_AFTER_S_MAX = 600.0
_PORTS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosigned:
    """The witness cosigned: its verified lines."""

    lines: tuple[NoteSignature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The witness has seen a tree of another size."""

    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The witness refused, broke the protocol, or did not answer in time.

    Attributes:
        status: the HTTP code; 0 without a valid answer.
        why: the reason, for the operator.
        retry_after_s: how long the witness asks not to be asked again.
    """

    status: int
    why: str
    retry_after_s: float = 0.0


WitnessReply = Cosigned | Conflict | Refused


class WitnessClient:
    """A client of one witness; keeps its connection open. Not thread-safe."""

    def __init__(self, url: str, keys: Sequence[VerifierKey], timeout_s: float) -> None:
        """Connect to nothing yet.

        `url` is the submission prefix, lines of other keys than `keys` are ignored, and
        `timeout_s` is for one request, connecting included.

        Raises:
            WitnessError: the address is malformed.
        """
        self._make, self._host, self._path = _address(url)
        self._keys = tuple(keys)
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def add_checkpoint(self, old_size: int, proof: Sequence[bytes], note: bytes) -> WitnessReply:
        """Return the answer to a request to cosign a checkpoint that extends `old_size`."""
        body = encode_request(old_size, proof, note)
        reused = self._connection is not None
        try:
            status, headers, data = self._post(body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not reused or isinstance(error, TimeoutError):
                return Refused(status=0, why=_reason(error))
            try:  # the server may have closed the idle connection
                status, headers, data = self._post(body)
            except (OSError, http.client.HTTPException) as again:
                self.close()
                return Refused(status=0, why=_reason(again))
        return self._outcome(status, headers, data, parse_note(note))

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None

    def _post(self, body: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Return status, headers and body; the connection stays open after a complete answer."""
        connection = self._connection or self._make(self._host, timeout=self._timeout_s)
        self._connection = connection
        with _deadline(connection, self._timeout_s) as late:
            if connection.sock is None:
                connection.connect()
                if late.is_set():
                    raise TimeoutError
            headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "countersign"}
            connection.request("POST", self._path, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read(ANSWER_BYTES_MAX + 1)
        if len(data) > ANSWER_BYTES_MAX or response.will_close or not response.isclosed():
            self.close()
        return response.status, response.headers, data

    def _outcome(
        self, status: int, headers: http.client.HTTPMessage, data: bytes, note: Note
    ) -> WitnessReply:
        if len(data) > ANSWER_BYTES_MAX:
            return Refused(status=0, why=f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        try:
            if status == Status.COSIGNED:
                return Cosigned(lines=verified_lines(data, note, self._keys))
            if status == Status.CONFLICT:
                kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
                if kind != SIZE_TYPE:
                    return Refused(status=status, why=f"a conflict without a size: {_shown(data)}")
                return Conflict(size=parse_size(_line(data)))
        except (NoteError, UnicodeDecodeError) as error:
            return Refused(status=0, why=f"not an answer: {error}")
        return Refused(
            status=status,
            why=f"HTTP {status}: {_shown(data)}",
            retry_after_s=_retry_after_s(headers.get("Retry-After", "")),
        )


def verified_lines(
    data: bytes, note: Note, keys: Sequence[VerifierKey]
) -> tuple[NoteSignature, ...]:
    """Return the verified lines of trusted keys in an answer; other lines are ignored.

    Raises:
        NoteError: the answer is malformed, has no line of a trusted key, or such a line does not
            verify or states no time.
    """
    lines = parse_signature_lines(data.decode("utf-8"))
    known = [line for line in lines if any(line.made_by(key) for key in keys)]
    if not known:
        raise NoteError("no cosignature of a key that the policy names")
    signed = verify_signatures(Note(text=note.text, signatures=tuple(known)), keys)
    if any(not one.time_s for one in signed):
        raise NoteError("a cosignature that does not say when it was made")
    return tuple(known)


@contextlib.contextmanager
def _deadline(
    connection: http.client.HTTPConnection, timeout_s: float
) -> Iterator[threading.Event]:
    """Shut the socket down if the block takes longer than `timeout_s`; yield whether it did."""
    late = threading.Event()

    def end() -> None:
        late.set()
        if connection.sock is not None:
            with contextlib.suppress(OSError):
                # the plain socket's method: unwrapping TLS would race with the reading thread
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    except (OSError, http.client.HTTPException) as error:
        if late.is_set() or isinstance(error, TimeoutError):  # the socket's timeout may come first
            raise TimeoutError(f"no answer in {timeout_s:g} s") from error
        raise
    finally:
        timer.cancel()
    if late.is_set():  # a body cut off by the deadline looks like a short body
        raise TimeoutError(f"no answer in {timeout_s:g} s")


def _address(url: str) -> tuple[type[http.client.HTTPConnection], str, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise WitnessError(f"{url!r} is not an address: {error}") from error
    plain = parts.scheme in _PORTS and parts.hostname and "@" not in parts.netloc
    if not plain or parts.query or parts.fragment or not url.isascii() or not url.isprintable():
        raise WitnessError(f"{url!r} is not a witness's address (http://HOST[:PORT][/PATH])")
    if port == 0:
        raise WitnessError(f"{url!r} has no port that can be reached")
    return _PORTS[parts.scheme], parts.netloc, parts.path.rstrip("/") + "/add-checkpoint"


def _line(data: bytes) -> str:
    text = data.decode("ascii")
    if not text.endswith("\n"):
        raise NoteError("the size does not end in a newline")
    return text[:-1]


def _retry_after_s(text: str) -> float:
    return min(float(text), RETRY_AFTER_S_MAX) if text.isascii() and text.isdigit() else 0.0


def _reason(error: Exception) -> str:
    return _shown(str(error).encode()) or type(error).__name__


def _shown(data: bytes) -> str:
    """Return the beginning of an answer as one printable line."""
    text = data[:_SHOWN].decode("utf-8", "replace")
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())
