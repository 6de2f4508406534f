"""The pipe between gateway and FIX child: JSON lines over one socket pair.

Every command has a number ``n`` and gets one answer with that number. Events come unasked. Neither
side ignores an unknown word: it is refused or raised as an error.

Commands (gateway to child):

| op         | fields                                        | answer ``result``        |
|------------|-----------------------------------------------|--------------------------|
| configure  | profile (JSON text), folder, kill_word,       | none: hello follows      |
|            | last_reset                                    |                          |
| logon      | min_next_sender, adopt, epoch, accept,        | ok, refused              |
|            | foreign (strangers' orders that work),        |                          |
|            | announced (our orders' fields, on record)     |                          |
| prepare    | cl_ord_id, fields                             | none                     |
| go         | as hand, without fields: what was prepared    | sent, refused            |
| hand       | cl_ord_id, fields, kill_epoch, send_before_us,| sent, refused            |
|            | send_until_us (CLOCK_MONOTONIC of this boot)  |                          |
| pass       | fields (F, q, H or AF)                        | sent, refused            |
| cancel     | cancel_id, fields (the order's, as sent)      | sent, refused            |
| reconciled | logon_no                                      | ok, refused              |
| kill       | kill_epoch                                    | ok: the gate is shut     |
| sweep      | names (ClOrdIDs; none: every live order)      | ok: sweep events follow  |
| stop       | sweep (bool)                                  | ok, then the child exits |

``sent`` comes with msg_seq_num, epoch and raw, ``refused`` with reason.

Events (child to gateway): ``hello`` {next_sender, next_target, live, damaged, build, dictionary,
order_profile}; ``session`` {state, logon_no, next_sender, next_target, detail}; ``inbox`` {offset,
next_offset}; ``sweep`` {phase, confirmed, unknown, open}; ``reset`` {reset_no, allowed,
new_sender}; ``fault`` {where, detail};
``answer`` {n, result, ...}; ``vitals``, every second, {next_sender, next_target} and what
`fix.session.listener.Traffic.frame` returns.

At end of file the child sends no new order and sweeps the live ones. Every function that reads a
line or a field raises `ChildError` if it is malformed.
"""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from fix.errors import ChildError

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]
Frame = dict[str, Json]
_JSON = json.JSONEncoder(separators=(",", ":"))
LINE_BYTES_MAX = 1 << 20
PREPARED_MAX = 256
PAIR = 2


class SessionState(StrEnum):
    """The session as the gateway sees it; only READY takes new orders.

    REFUSED: a sequence reset was not allowed, or the child disagrees with the gateway on build,
    dictionary or order profile; nothing is tried before the next start.
    """

    DOWN = "DOWN"
    CONNECTING = "CONNECTING"
    RECONCILING = "RECONCILING"
    READY = "READY"
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandResult:
    """The FIX child's answer about one message.

    Attributes:
        outcome: ``sent``, ``refused`` (it never leaves) or ``unknown``, with the `reason`.
        epoch: of `msg_seq_num`; see `fix.durable.resets`.
        raw: the message as it left, if sent.
    """

    outcome: str
    msg_seq_num: int = 0
    epoch: int = 0
    raw: str = ""
    reason: str = ""


def encode(frame: Frame) -> bytes:
    """Return one line of the pipe."""
    return _JSON.encode(frame).encode("ascii") + b"\n"


def frames(link: socket.socket) -> Iterator[Frame]:
    """Yield frames until the other side closes."""
    buffer = b""
    while True:
        try:
            chunk = link.recv(1 << 16)
        except OSError:
            return
        if not chunk:
            return
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        if len(buffer) > LINE_BYTES_MAX:
            raise ChildError(problem="a line of the pipe is too long")
        for line in lines:
            yield decode(line)


def decode(line: bytes) -> Frame:
    """Return the frame in one line."""
    try:
        frame = json.loads(line)
    except ValueError as error:
        raise ChildError(problem="a line of the pipe is not JSON") from error
    if not isinstance(frame, dict):
        raise ChildError(problem="a line of the pipe is not an object")
    return frame


def number(frame: Frame, name: str) -> int:
    """Return an integer field."""
    value = frame.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ChildError(problem=f"frame field {name} is not an integer")
    return value


def text(frame: Frame, name: str) -> str:
    """Return a text field."""
    value = frame.get(name)
    if not isinstance(value, str):
        raise ChildError(problem=f"frame field {name} is not text")
    return value


def names_of(frame: Frame, name: str) -> tuple[str, ...]:
    """Return a field that is a list of texts; empty if it is missing."""
    found = frame.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ChildError(problem=f"frame field {name} is not a list of texts")
    return tuple(str(one) for one in found)


def orders_of(frame: Frame, name: str) -> tuple[tuple[tuple[int, str], ...], ...]:
    """Return a field that is a list of orders' FIX fields; empty if it is missing."""
    found = frame.get(name, [])
    if not isinstance(found, list):
        raise ChildError(problem=f"frame field {name} is not a list")
    return tuple(fields_of({"fields": one}) for one in found)


def fields_of(frame: Frame) -> tuple[tuple[int, str], ...]:
    """Return the FIX fields of a hand or pass command."""
    pairs = frame.get("fields")
    if not isinstance(pairs, list):
        raise ChildError(problem="frame has no list of fields")
    found: list[tuple[int, str]] = []
    for pair in pairs:
        tag, value = pair if isinstance(pair, list) and len(pair) == PAIR else (None, None)
        if not isinstance(tag, int) or not isinstance(value, str):
            raise ChildError(problem="a FIX field of the frame is not [tag, text]")
        found.append((tag, value))
    return tuple(found)
