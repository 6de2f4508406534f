"""Play dialogues of the FIX session layer against the simulator: ``make fix-acceptance``.

A scenario is a file of lines; its first line says the rule that it holds. Its name is the one under
which QuickFIX's acceptance definitions test the same rule.

    connect [n]     open connection n (default 1)
    I[n] fields     send a message; 8, 9, 10, 49, 52 and 56 are filled in unless given, ``56=-``
                    leaves one out, ``@order`` is the body of an order that rests
    R[n] fields     send exactly these fields in this order; ``9=#`` and ``10=#`` are computed
    E[n] fields     expect this message next: a session message has exactly these fields, a report
                    has at least these; ``*`` is any value
    A[n] ..         as E, or ``closed``, but Heartbeats may come before it
    closed [n]      the peer closes the connection and sends nothing before
    close [n]       close it

``<TIME>``, ``<TIME+10>`` and ``<TIME-121>`` are times near now, ``<ID>`` is a ClOrdID made from 34,
``<ID2>`` that of the message with 34=2.
"""

import argparse
import contextlib
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from fix.wire.fields import SOH
from fix.wire.messages import parse, timestamp
from tests.doubles.fix_world import ROOT, broker_at, quotes_above, wall_us

SCENARIOS = ROOT / "tests" / "integration" / "fix" / "acceptance" / "scenarios"
PAGE = ROOT / "docs" / "measured" / "fix-acceptance.md"
SLOW = frozenset({"4a_NoDataSentDuringHeartBtInt", "6_SendTestRequest"})
DEVIATIONS: dict[str, str] = {}
"""Scenarios that the simulator does not pass, each with its reason."""
BOUND_S = 20.0
OURS, THEIRS = "COUNTERSIGN", "EMSSIM"
_ENVELOPE = frozenset({"8", "9", "10", "49", "52", "56"})
_REPORTS = frozenset({"8", "9", "r", "j", "W", "Y"})
_ORDER = "11=<ID>|21=1|55=SPXN|54=1|60=<TIME>|38=7|40=2|44=1.00|59=0"
_MESSAGE = re.compile(rb"8=[^\x01]*\x019=\d+\x01.*?\x0110=\d{3}\x01", re.DOTALL)
_TIME = re.compile(r"<TIME([+-]\d+)?>")
_ID = re.compile(r"<ID(\d+)>")


class ScenarioError(AssertionError):
    """The simulator did something else than its scenario says."""


class Scenario(NamedTuple):
    """One dialogue."""

    name: str
    rule: str
    lines: tuple[str, ...]


class Played(NamedTuple):
    """How one scenario ended; `fault` is "" if the simulator kept the rule."""

    scenario: Scenario
    fault: str


def scenarios() -> list[Scenario]:
    """Return every scenario, in the order of the rules' names."""
    found = []
    for path in sorted(SCENARIOS.glob("*.def"), key=_rank):
        first, *rest = path.read_text(encoding="ascii").splitlines()
        lines = tuple(line for line in rest if line and not line.startswith("#"))
        found.append(Scenario(path.stem, first.removeprefix("# "), lines))
    return found


def _rank(path: Path) -> tuple[int, str]:
    digits = re.match(r"\d+", path.stem)
    return (int(digits[0]) if digits else 99, path.stem)


class _Link:
    """One connection to the simulator."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), BOUND_S)
        self._buffer = b""

    def send(self, raw: bytes) -> None:
        """Send, even if the peer has closed the connection: the next expectation says so."""
        try:
            self._socket.sendall(raw)
        except OSError:
            return

    def next(self) -> str | None:
        """Return the next message, None at the end of the connection."""
        until = time.monotonic() + BOUND_S
        while not (found := _MESSAGE.search(self._buffer)):
            self._socket.settimeout(max(0.01, until - time.monotonic()))
            try:
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                raise ScenarioError(f"nothing came in {BOUND_S:g} s") from None
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._buffer += chunk
        self._buffer = self._buffer[found.end() :]
        return found[0].decode("latin-1")

    def close(self) -> None:
        """Close the connection, and wait until the peer has noticed: its session is down then."""
        with self._socket, contextlib.suppress(OSError):
            self._socket.settimeout(BOUND_S)
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(1 << 16):
                pass


class _Player:
    """Plays one scenario."""

    def __init__(self, scenario: Scenario, port: int) -> None:
        self._scenario = scenario
        self._port = port
        self._links: dict[str, _Link] = {}
        self._ids = f"{wall_us():x}"

    def play(self) -> None:
        """Play all lines, and close what is left open.

        Raises:
            ScenarioError: names the line and what came instead.
        """
        try:
            for line in self._scenario.lines:
                try:
                    self._step(line)
                except ScenarioError as error:
                    raise ScenarioError(f"`{line}`: {error}") from None
        finally:
            for link in list(self._links):
                self._close(link)

    def _step(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "connect":
                self._close(rest or "1")
                self._links[rest or "1"] = _Link(self._port)
            case "close":
                self._close(rest or "1")
            case "closed":
                self._expect_end(rest or "1", patient=False)
            case _:
                self._message(word[0], word[1:] or "1", rest)

    def _close(self, link: str) -> None:
        if link in self._links:
            self._links.pop(link).close()

    def _message(self, what: str, link: str, rest: str) -> None:
        match what:
            case "I":
                self._links[link].send(self._filled(rest))
            case "R":
                self._links[link].send(_computed(self._values(rest)))
            case "A" if rest == "closed":
                self._expect_end(link, patient=True)
            case "E" | "A":
                self._expect(link, rest, patient=what == "A")
            case _:
                raise ScenarioError("no such line")

    def _values(self, text: str) -> list[tuple[str, str]]:
        text = text.replace("@order", _ORDER)
        number = re.search(r"\|34=(\d+)", text)
        text = text.replace("<ID>", f"<ID{number[1] if number else 0}>")
        text = _ID.sub(lambda found: f"{self._ids}-{found[1]}", text)
        text = _TIME.sub(lambda found: timestamp(wall_us() + 1_000_000 * int(found[1] or 0)), text)
        pairs = [field.partition("=") for field in text.rstrip("|").split("|")]
        return [(tag, value) for tag, _, value in pairs]

    def _filled(self, text: str) -> bytes:
        given = self._values(text)
        own = dict(given)
        envelope = {"49": OURS, "52": timestamp(wall_us()), "56": THEIRS}
        lead = [(tag, own[tag]) for tag in ("35", "34")]
        lead += [(tag, own.get(tag, value)) for tag, value in envelope.items()]
        body = [pair for pair in given if pair[0] not in {*_ENVELOPE, "34", "35"}]
        kept = [(tag, value) for tag, value in (*lead, *body) if value != "-"]
        head = [("8", own.get("8", "FIX.4.4")), ("9", own.get("9", "#"))]
        return _computed([*head, *kept, ("10", own.get("10", "#"))])

    def _expect_end(self, link: str, *, patient: bool) -> None:
        came = self._next(link, patient=patient)
        if came is not None:
            raise ScenarioError(f"came {_shown(came)}")

    def _next(self, link: str, *, patient: bool) -> str | None:
        came = self._links[link].next()
        while patient and came is not None and dict(parse(came))[35] == "0":
            came = self._links[link].next()
        return came

    def _expect(self, link: str, rest: str, *, patient: bool) -> None:
        came = self._next(link, patient=patient)
        if came is None:
            raise ScenarioError("the connection was closed")
        fields = {str(tag): value for tag, value in parse(came)}  # checks length and checksum
        wanted = dict(self._values(rest))
        differing = [
            tag
            for tag, value in wanted.items()
            if tag not in fields or value not in {"*", fields[tag]}
        ]
        if wanted["35"] not in _REPORTS:
            differing += [tag for tag in fields if tag not in {*wanted, *_ENVELOPE, "58"}]
        names = (fields.get("49"), fields.get("56"))
        if differing or names != (THEIRS, OURS):
            raise ScenarioError(f"came {_shown(came)}")


def _computed(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return the bytes of these fields; ``9=#`` and ``10=#`` are computed."""
    fields = list(pairs)
    inner = "".join(f"{tag}={value}{SOH}" for tag, value in fields[2:-1])
    written = [
        (tag, str(len(inner)) if (tag, value) == ("9", "#") else value) for tag, value in fields
    ]
    text = "".join(f"{tag}={value}{SOH}" for tag, value in written[:-1])
    tag, value = written[-1]
    value = f"{sum(text.encode('latin-1')) % 256:03d}" if (tag, value) == ("10", "#") else value
    return f"{text}{tag}={value}{SOH}".encode("latin-1")


def _shown(raw: str) -> str:
    hidden = {"8", "9", "10", "49", "52", "56"}
    kept = [field for field in raw.split(SOH) if field and field.partition("=")[0] not in hidden]
    return f"`{'|'.join(kept)}`"


def play_all(chosen: Sequence[Scenario], folder: Path) -> dict[str, Played]:
    """Play the scenarios, slow ones each beside the others with a simulator of its own."""
    lanes = [[one] for one in chosen if one.name in SLOW]
    lanes.append([one for one in chosen if one.name not in SLOW])
    quotes = quotes_above(folder)

    def lane(number: int) -> list[Played]:
        settings = {"quotes": quotes, "reset_on_logon": True, "script": ("fill",) * 200}
        with broker_at(folder / f"lane-{number}", **settings) as broker:
            return [_played(one, broker.config.port) for one in lanes[number]]

    with ThreadPoolExecutor(len(lanes)) as pool:
        results = [one for played in pool.map(lane, range(len(lanes))) for one in played]
    return {one.scenario.name: one for one in results}


def _played(scenario: Scenario, port: int) -> Played:
    try:
        _Player(scenario, port).play()
    except ScenarioError as error:
        return Played(scenario, str(error))
    return Played(scenario, "")


def page(results: Iterable[Played]) -> str:
    """Return the table of results as the page that is kept."""
    played = list(results)
    passed = sum(not one.fault for one in played)
    rows = [
        f"| {one.name} | {'deviates' if fault else 'passes'} | {one.rule} |"
        for one, fault in played
    ]
    failed = [one for one in played if one.fault]
    reasons = [
        f"- **{one.scenario.name}**: {DEVIATIONS.get(one.scenario.name, 'not explained yet.')}"
        f" Seen: {one.fault}."
        for one in failed
    ]
    return "\n".join(
        [
            "# The simulator against the rules of the FIX session layer",
            "",
            "Written by `make fix-acceptance` from the dialogues in",
            "`tests/integration/fix/acceptance/scenarios`; do not edit. Each holds the rule that",
            "QuickFIX's acceptance definition of the same name (FIX 4.4, acceptor) holds, in our",
            "own words and with the answers of a broker in place of an echo. They are played over",
            "TCP, byte by byte, also by the tests.",
            "",
            f"**{passed} of {len(played)} pass.**",
            "",
            *(["Deviations:", "", *reasons, ""] if reasons else []),
            "| scenario | result | rule |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def main(words: Sequence[str]) -> int:
    """Play, print what deviates, write the page; 1 if a deviation has no reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.doubles.fix_acceptance")
    parser.add_argument("names", nargs="*", help="scenarios; default: all")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args(words)
    chosen = [one for one in scenarios() if not given.names or one.name in given.names]
    with tempfile.TemporaryDirectory(prefix="acceptance-") as folder:
        results = play_all(chosen, Path(folder))
    ordered = [results[one.name] for one in chosen]
    for one in ordered:
        if one.fault:
            sys.stdout.write(f"{one.scenario.name}: {one.fault}\n")
    sys.stdout.write(f"{sum(not one.fault for one in ordered)} of {len(ordered)} pass\n")
    if given.write:
        PAGE.write_text(page(ordered), encoding="utf-8")
    return int(any(one.fault and one.scenario.name not in DEVIATIONS for one in ordered))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
