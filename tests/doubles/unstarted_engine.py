"""The session with the real engine, opened and never started: callbacks are called by hand.

Its store and its numbers are real; there is no connection, so `Up` says that it is logged on.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import quickfix
from typing_extensions import override

from fix.dialects.profile import Profile
from fix.durable.continuity import stored_numbers
from fix.durable.inbox import Inbox, read_from
from fix.durable.kill_word import KillWord
from fix.durable.resets import Sequence
from fix.durable.wire_log import WireLog, message_log
from fix.session.guard import Gate, Ticket
from fix.session.initiator import DICTIONARY, Callbacks, InitiatorSession
from fix.session.listener import Listener, wire_view
from fix.wire.messages import Fields, parse, wire_text
from tests.doubles.fix_world import PROFILE

_NAMES = itertools.count(1)
"""The engine knows its sessions by their ids, in the whole process."""
Said = tuple[object, ...]


class Up(Callbacks):
    """Callbacks of a session that is up as far as the engine is concerned."""

    asked: list[str]

    @override
    def toAdmin(self, message: quickfix.Message, session_id: quickfix.SessionID) -> None:
        """Note a TestRequest's id besides."""
        fields = dict(parse(wire_view(message.toString())))
        if fields[35] == "1":
            self.asked.append(fields[112])
        super().toAdmin(message, session_id)

    @property
    @override
    def is_logged_on(self) -> bool:
        """Whether our own half says so."""
        return self._logged_on


@dataclass
class Engine:
    """The parts of one session, and what its callbacks told."""

    folder: Path
    profile: Profile
    callbacks: Callbacks
    session: InitiatorSession
    gate: Gate
    inbox: Inbox
    said: list[Said]

    def message(self, *fields: tuple[int, str], number: int = 1) -> quickfix.Message:
        """A message of either side; type first."""
        ours = ((49, self.profile.sender_comp_id), (56, self.profile.target_comp_id))
        text = wire_text((fields[0], *ours, (34, str(number)), *fields[1:]))
        return quickfix.Message(text, quickfix.DataDictionary(str(DICTIONARY)), False)  # noqa: FBT003

    def comes_in(self, *fields: tuple[int, str], number: int = 1) -> None:
        """Have the engine hand in a message: an application's, or the session's own."""
        taken = {"8", "9", "r", "j"}
        call = self.callbacks.fromApp if fields[0][1] in taken else self.callbacks.fromAdmin
        call(self.message(*fields, number=number), self.callbacks.session_id)

    def goes_out(self, *fields: tuple[int, str], number: int = 1) -> None:
        """Have the engine show an administrative message of ours as it leaves."""
        self.callbacks.toAdmin(self.message(*fields, number=number), self.callbacks.session_id)

    def leaves(self, *fields: tuple[int, str], number: int = 1) -> bool:
        """Whether an application message of ours may leave."""
        try:
            self.callbacks.toApp(self.message(*fields, number=number), self.callbacks.session_id)
        except quickfix.DoNotSend:
            return False
        return True

    def ready(self) -> None:
        """Log on and reconcile."""
        self.callbacks.onLogon(self.callbacks.session_id)
        assert self.gate.reconciled(self.gate.logon_no)
        self.said.clear()

    def ticket(self, name: str) -> None:
        """Hand in what an order of this name needs."""
        ticket = Ticket(cl_ord_id=name, kill_epoch=0, send_before_us=9, send_until_us=9)
        assert self.gate.hand(ticket) is None

    @property
    def engines(self) -> quickfix.Session:
        """The engine's own session."""
        return quickfix.Session.lookupSession(self.callbacks.session_id)

    def asked(self) -> list[str]:
        """The TestRequests that the engine was to send: their ids."""
        return self.callbacks.asked if isinstance(self.callbacks, Up) else []

    def kept(self) -> list[dict[int, str]]:
        """What stands in the inbox."""
        return [dict(parse(one.raw)) for one in read_from(self.folder / "inbox", 0)]

    def told(self, name: str) -> list[Said]:
        """What a listener's method was told."""
        return [one[1:] for one in self.said if one[0] == name]


def named(profile: Profile) -> Profile:
    """Return the profile under a name of ours that no other session of this process has."""
    return profile.model_copy(update={"sender_comp_id": f"US{next(_NAMES)}"})


def engine(
    folder: Path, profile: Profile = PROFILE, *, on_record: int = 0, kind: type[Callbacks] = Up
) -> Engine:
    """Open a session in a folder, as a child does before it logs on."""
    return reopened(folder, named(profile), on_record=on_record, kind=kind)


def reopened(
    folder: Path, profile: Profile, *, on_record: int = 0, kind: type[Callbacks] = Up
) -> Engine:
    """Open a session under the ids of an earlier one, which must be gone."""
    for name in ("store", "log"):
        (folder / name).mkdir(exist_ok=True)
    said: list[Said] = []
    word = KillWord(folder / "kill.word", create=True)
    gate = Gate(word.read, lambda: 1, lambda: 1)
    listener = Listener(
        received=lambda entry: said.append(("received", entry)),
        logged_on=lambda number: said.append(("logged_on", number)),
        logged_off=lambda why: said.append(("logged_off", why)),
        fault=lambda where, what: said.append(("fault", where, what)),
        reset=lambda found: said.append(("reset", found)),
        heartbeat=lambda asked: said.append(("heartbeat", asked)),
    )
    stored = stored_numbers(folder)
    sequence = Sequence(folder, profile, lambda: 5, stored=stored, on_record=on_record)
    inbox = Inbox(folder / "inbox")
    wire = WireLog(message_log(profile, folder), profile.target_comp_id)
    callbacks = kind(gate, inbox, wire, listener, sequence)
    if isinstance(callbacks, Up):
        callbacks.asked = []
    session = InitiatorSession(profile, folder, callbacks)
    return Engine(folder, profile, callbacks, session, gate, inbox, said)


ORDER: Fields = ((35, "D"), (11, "A"), (55, "SPXN"), (54, "1"), (38, "5"), (44, "10"))
