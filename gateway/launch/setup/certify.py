"""The verb certify: the FIX session that `serve` uses, tried case by case at a broker.

It has a folder and a session store of its own and appends nothing to the desk's ledger. What it
sends is recorded in its folder before it leaves (`fix.certification.evidence`).

Rules:
- Not in pilot or live mode unless told to, and not while a kill is in force.
- Not at the address and CompIDs of the desk's own session once that has numbers: they would go
  wrong.
- The installation's kill word stops its orders too.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fix.certification.cases import CaseOutcome, CertifyRun, Tried, WireMessage, try_case
from fix.certification.evidence import SentLines
from fix.certification.order_cases import CLEAN_UP, ORDER_CASES
from fix.certification.report import counts, document, line_of, page, passed
from fix.certification.session_cases import LOGON, LOGOUT, SESSION_CASES
from fix.dialects.engine_settings import ids_of
from fix.dialects.profile import Profile, parse_profile
from fix.durable.continuity import stored_numbers
from fix.durable.kill_word import KillWord
from fix.durable.wire_log import message_log
from fix.errors import CertifyError, FixError, MessageError
from fix.session.link import HandResult, SessionState
from fix.wire.messages import CL_ORD_ID, Fields, parse
from gateway import clock
from gateway.errors import SettingsError
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from gateway.installation.children.fix_profiles import profile_of, profile_record, read_profile
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

BEGUN_NOT: Final = 2
_SEND_WITHIN_US: Final = 10_000_000
_LOOK_S: Final = 0.05
_SENDER: Final = 49
_SEPARATOR: Final = " : "


@dataclass(frozen=True, slots=True)
class CertifyWish:
    """What the command line says."""

    profile: Path
    host: str | None
    port: int | None
    folder: Path
    patience_s: int
    in_live_mode: bool = False


class CertifySession:
    """The session under test: one FIX child after the other on one store."""

    def __init__(self, profile: Profile, folder: Path, word: Path, patience_s: float) -> None:
        """Hold the folder; nothing runs before `connect`."""
        self._profile = profile
        self._folder = folder
        self._word = word
        self._patience_s = patience_s + profile.logon_timeout_s + profile.reconnect_s
        self._child: FixChild | None = None
        self._log = message_log(profile, folder)
        self._start = self._log.stat().st_size if self._log.exists() else 0

    def connect(self, *, skip: int = 0, forget: int = 0) -> None:
        """Log on with a new child, as `SessionPort` says."""
        if forget:
            _forget(self._folder, forget)
        child = self._child = FixChild(
            FixChildConfig(
                profile=self._profile,
                folder=self._folder,
                kill_word=self._word,
                log_path=self._folder / "child.log",
            )
        )
        wanted = child.start().next_sender + skip
        child.logon(min_next_sender=wanted, adopt=skip > 0)
        self._proven(child)

    def disconnect(self) -> None:
        """Log out and end the child."""
        if self._child is not None:
            self._child.stop(sweep=False)
            self._child = None

    def cut(self) -> None:
        """Kill the child, which ends the connection; the next one logs on by itself."""
        child = self._the_child()
        child.drop()
        child.wait_for(SessionState.DOWN, self._patience_s)
        self._proven(child)

    def recover(self) -> None:
        """Log on unless the session is up: a case may have lost it."""
        if self._child is None:
            self.connect()
        elif self._child.state is not SessionState.READY:
            self._proven(self._child)

    def hand(self, fields: Fields) -> HandResult:
        """Send an order."""
        word = KillWord(self._word)
        try:
            epoch = word.read().kill_epoch
        finally:
            word.close()
        return self._the_child().hand(
            dict(fields)[CL_ORD_ID],
            fields,
            epoch,
            clock.wall_us() + _SEND_WITHIN_US,
            clock.monotonic_us() + _SEND_WITHIN_US,
        )

    def send(self, fields: Fields) -> HandResult:
        """Send a cancel or a request."""
        return self._the_child().cancel(fields)

    def messages(self) -> list[WireMessage]:
        """Return this run's messages from the engine's log, without a line that is not whole."""
        if not self._log.exists():
            return []
        text = self._log.read_bytes()[self._start :].decode("latin-1")
        found: list[WireMessage] = []
        for line in text.split("\n")[:-1]:
            with suppress(MessageError):
                fields = dict(reversed(parse(line.partition(_SEPARATOR)[2])))
                ours = fields.get(_SENDER) == self._profile.sender_comp_id
                found.append(WireMessage(ours, dict(reversed(fields.items()))))
        return found

    def wall_us(self) -> int:
        """Return wall clock microseconds."""
        return clock.wall_us()

    def monotonic_s(self) -> float:
        """Return monotonic seconds."""
        return clock.monotonic_us() / 1_000_000

    def pause(self, seconds: float) -> None:
        """Wait."""
        clock.pause(seconds)

    def _the_child(self) -> FixChild:
        if self._child is None:
            raise CertifyError(problem="there is no session")
        return self._child

    def _proven(self, child: FixChild) -> None:
        """Wait until the logon is proven, then let orders pass."""
        until_s = self.monotonic_s() + self._patience_s
        while child.state is not SessionState.RECONCILING:
            if child.refused or self.monotonic_s() > until_s:
                said = child.detail or f"see {self._folder / 'child.log'}"
                problem = f"no proven logon in {self._patience_s:g} s ({child.state}: {said})"
                raise CertifyError(problem=problem)
            self.pause(_LOOK_S)
        if not child.set_reconciled(child.logon_no):
            raise CertifyError(problem="the session ended directly after its logon")


def certify_broker(settings: Settings, wish: CertifyWish) -> int:
    """Play every case, write the report, print a line for each; return the exit code."""
    try:
        profile = _profile(settings, wish)
        word = _kill_word(settings, wish)
        lines = SentLines(_made(wish.folder) / "sent.jsonl")
    except (FixError, SettingsError) as error:
        sys.stdout.write(f"{error}\n")
        return BEGUN_NOT
    sys.stdout.write(
        f"{profile.name} at {profile.host}:{profile.port}, on paper, in {wish.folder}; nothing of"
        " this is in the desk's ledger\n"
    )
    began_us = clock.wall_us()
    with _session(profile, wish, word) as session:
        run = CertifyRun(profile=profile, session=session, lines=lines, patience_s=wish.patience_s)
        tried = list(_played(run))
    ours, theirs = stored_numbers(wish.folder / "fix")
    about = {
        "profile": profile_record(profile),
        "broker": f"{profile.host}:{profile.port}",
        "session": "-".join(ids_of(profile)),
        "mode": "paper, apart from the desk's ledger",
        "began_us": began_us,
        "ended_us": clock.wall_us(),
        "sent_lines_head": lines.head,
        "next numbers": f"{ours} ours, {theirs} theirs",
    }
    for name, text in (
        ("report.json", document(about, tried)),
        ("report.html", page(about, tried)),
    ):
        (wish.folder / name).write_text(text, encoding="utf-8")
    sys.stdout.write(
        f"{counts(tried)}; {wish.folder / 'report.html'}\n"
        f"the broker now expects number {ours} from these CompIDs: let it begin at 1 again before"
        " `serve` uses them\n"
    )
    return 0 if passed(tried) else 1


def _played(run: CertifyRun) -> Iterator[Tried]:
    """Play the cases in order; without a logon no other follows."""
    for case in (LOGON, *SESSION_CASES, *ORDER_CASES, CLEAN_UP, LOGOUT):
        one = try_case(case, run)
        sys.stdout.write(f"{line_of(one)}\n")
        sys.stdout.flush()
        yield one
        if case is LOGON and one.outcome is CaseOutcome.FAIL:
            return


def _profile(settings: Settings, wish: CertifyWish) -> Profile:
    """Return the profile with the given address.

    Raises:
        CertifyError: the mode or the desk's own session forbids it.
        ProfileError, SettingsError: the profile or a setting is faulty.
    """
    if settings.mode in {"pilot", "live"} and not wish.in_live_mode:
        problem = f"COUNTERSIGN_MODE is {settings.mode}: give --in-live-mode if you mean it"
        raise CertifyError(problem=problem)
    changes = {"host": wish.host, "port": wish.port}
    given = {name: value for name, value in changes.items() if value is not None}
    read = read_profile(wish.profile)
    profile = parse_profile(json.dumps(read.model_dump(mode="json") | given))
    own, numbered = None, stored_numbers(StateFolder.of(settings).fix) != (1, 1)
    with suppress(SettingsError):  # an installation without a broker has no session of its own
        own = profile_of(settings.fix)
    if own is not None and numbered and _reach(own) == _reach(profile):
        problem = (
            "these CompIDs at this address are the desk's own session, whose numbers would go"
            " wrong: name the certification environment with --host and --port"
        )
        raise CertifyError(problem=problem)
    return profile


def _reach(profile: Profile) -> tuple[object, ...]:
    return (profile.host, profile.port, *ids_of(profile))


def _kill_word(settings: Settings, wish: CertifyWish) -> Path:
    """Return the installation's kill word, or one of the run's own if there is none.

    Raises:
        CertifyError: a kill is in force.
    """
    path = StateFolder.of(settings).kill_word
    if not path.exists():
        path = _made(wish.folder) / "kill.word"
    word = KillWord(path, create=not path.exists())
    try:
        if word.read().killed:
            raise CertifyError(problem=f"a kill is in force ({path})")
    finally:
        word.close()
    return path


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def _session(profile: Profile, wish: CertifyWish, word: Path) -> Iterator[CertifySession]:
    folder = wish.folder.absolute() / "fix"
    _made(folder)
    session = CertifySession(profile, folder, word.absolute(), float(wish.patience_s))
    try:
        yield session
    finally:
        session.disconnect()


def _forget(folder: Path, count: int) -> None:
    """Take so many of the broker's messages as not received, in the run's own store."""
    for path in (folder / "store").glob("*.seqnums"):
        ours, theirs = stored_numbers(folder)
        path.write_bytes(
            re.sub(rb"\d+\s*$", f"{max(1, theirs - count):020d}".encode(), path.read_bytes())
        )
        if ours != stored_numbers(folder)[0]:
            raise CertifyError(problem=f"{path} has another form than expected")
