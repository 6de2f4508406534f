"""The quickfix initiator: one session whose callbacks let no exception out.

Not here: what may leave (`fix.session.guard`), what a message means, and the pipe.

Rules:
- An exception that leaves a callback ends or deafens the process (measured, quickfix 1.16.0). So
  each is caught and reported as a fault, egress closes, and in ``toApp`` the message stays.
- An inbound message is durable in the inbox before the engine counts it. If the disk refuses, the
  process ends at once, because otherwise the engine counts the message as received.
- What the engine rejects or cannot parse reaches no callback; it goes into the inbox all the same.
- A Message kept after its callback causes a segfault: take its text inside, parse it later.
- ``sendToTarget`` returns True for orders that never left; only ``toApp`` knows what left.
- No callback takes an application lock that is held around ``sendToTarget`` (deadlock).
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import quickfix

from fix.dialects.engine_settings import ids_of, initiator_settings
from fix.dialects.profile import Profile
from fix.durable.inbox import Inbox
from fix.durable.kill_word import monotonic_us
from fix.durable.resets import Reset, Sequence
from fix.durable.wire_log import WireLog
from fix.errors import MessageError
from fix.session.dictionaries import DICTIONARIES, words_of
from fix.session.guard import Gate, Refusal
from fix.session.line import Dialling
from fix.session.listener import Listener, Sent, Traffic, wire_view
from fix.wire.fields import MSG_TYPE, read_message
from fix.wire.messages import Fields, parse, text_for

DICTIONARY = DICTIONARIES / "FIX44.xml"
EXIT_INBOX_LOST, INBOX_LOST = 70, "inbox"
_SEQ_NUM, _REF_SEQ_NUM, _NEW_SEQ_NO, _TEXT, _RESET_FLAG = 34, 45, 36, 58, 141
_SESSION_REJECT, _LOGOUT, _RESEND_REQUEST, _LOGON = "3", "5", "2", "A"
_REJECTS = frozenset({_SESSION_REJECT, "j"})
_HEARTBEAT, _TEST_REQ_ID = "0", 112
_TOO_LOW = "MsgSeqNum too low"  # so the engine's Logout begins after a logon under a used number
_LOGOUT_S = 10.0


class Callbacks(quickfix.Application):
    """quickfix's seven callbacks, guarded; `InitiatorSession` sets `session_id`."""

    def __init__(
        self, gate: Gate, inbox: Inbox, wire: WireLog, listener: Listener, sequence: Sequence
    ) -> None:
        super().__init__()
        self.sequence = sequence
        self.traffic = Traffic(monotonic_us)
        self.session_id: quickfix.SessionID | None = None
        self.leaving = threading.local()
        self._gate = gate
        self._inbox = inbox
        self._wire = wire
        self._listener = listener
        self.ended = threading.Event()
        self.resent_us = self._engine_thread = 0
        self.is_leaving = False
        self._logged_on = False
        self._peer_reason = ""
        self._own_reset = False
        self._reject_logon = False
        self._refused: Reset | None = None

    @property
    def is_logged_on(self) -> bool:
        """Whether the session is up, by our own state and by the engine's."""
        if not self._logged_on or self.session_id is None:
            return False
        session = quickfix.Session.lookupSession(self.session_id)
        return bool(session is not None and session.isLoggedOn())

    def put_back(self, refused: Reset) -> None:
        """Restore the numbers that held before a refused reset."""
        session = quickfix.Session.lookupSession(self.session_id)
        session.setNextSenderMsgSeqNum(refused.old_sender)
        session.setNextTargetMsgSeqNum(refused.old_target)

    def logout_begins(self) -> None:
        """Take no more orders: the engine itself would still send while logging out."""
        self._logged_on = False
        self.is_leaving = True

    def onCreate(self, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Do nothing: the profile names the session."""

    def onLogon(self, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Count the logon: both logons were exchanged."""
        self._guarded("onLogon", self._on_logon)

    def onLogout(self, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Note the end of the session, by logout or disconnect."""
        self._guarded("onLogout", self._on_logout)

    def toAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Count the engine's own messages, and notice its sequence resets."""
        self._guarded("toAdmin", lambda: self._on_own_admin(wire_view(message.toString())))

    def fromAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Keep rejects, which decide the fate of an order, and a logout's reason."""
        self._reject_logon = False
        self._guarded("fromAdmin", lambda: self._on_admin(wire_view(message.toString())))
        if self._reject_logon:
            raise quickfix.RejectLogon

    def fromApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Make an application message durable before the engine counts it."""
        self._guarded("fromApp", lambda: self._on_app(wire_view(message.toString())))

    def toApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Let a message leave or raise DoNotSend, and raise nothing else."""
        refusal: Refusal | None = Refusal.FAULT
        try:
            refusal = self._on_leaving(wire_view(message.toString()))
        except BaseException as error:  # noqa: BLE001  # see the module's first rule
            self._fault("toApp", error)
        if refusal is not None:
            self.leaving.refusal = refusal
            raise quickfix.DoNotSend

    def _on_leaving(self, raw: str) -> Refusal | None:
        self.leaving.sent = None
        try:
            fields = dict(parse(raw))
            msg_seq_num = int(fields[_SEQ_NUM])
            self._keep_untaken(fields)
        except (MessageError, KeyError, ValueError):
            return Refusal.MALFORMED
        refusal = self._gate.judge(fields, logged_on=self.is_logged_on)
        if refusal is None:
            self.traffic.leaves(fields)
            self.sequence.sent(msg_seq_num)
            self.leaving.sent = Sent(msg_seq_num=msg_seq_num, raw=raw, epoch=self.sequence.epoch)
        return refusal

    def _on_logon(self) -> None:
        self._peer_reason, self._own_reset, self.resent_us = "", False, 0
        if self.sequence.logged_on():
            quickfix.Session.lookupSession(self.session_id).setResetOnLogon(False)
        self.ended.clear()
        logon_no = self._gate.begin_logon()
        self._logged_on = True
        self._listener.logged_on(logon_no)

    def _on_logout(self) -> None:
        self._logged_on, self._own_reset = False, False
        self.ended.set()
        self._gate.end_logon()
        if self._refused is not None:  # the engine had reset its numbers before it asked
            self.put_back(self._refused)
            self._refused = None
        self._listener.logged_off(self._peer_reason)

    def _on_own_admin(self, raw: str) -> None:
        fields = dict(parse(raw))
        self.traffic.note("out", fields)
        self._keep_untaken(fields)
        number = int(fields[_SEQ_NUM])
        if fields[MSG_TYPE] == _LOGON:
            self._own_reset = fields.get(_RESET_FLAG) == "Y"
            made = self.sequence.logging_on(number, self._expected())
            if made is not None:
                self._listener.reset(made)
            return
        self.sequence.sent(number)
        refuses = fields[MSG_TYPE] == _LOGOUT and fields.get(_TEXT, "").startswith(_TOO_LOW)
        if refuses and not self._logged_on:
            self._on_too_low()

    def _expected(self) -> int:
        return int(quickfix.Session.lookupSession(self.session_id).getExpectedTargetNum())

    def _count(self, fields: Mapping[int, str]) -> None:
        """Note a number that the engine takes now; before one too high it requests a resend."""
        number = int(fields[_SEQ_NUM])
        if number == self._expected():
            self.sequence.received(max(number, int(fields.get(_NEW_SEQ_NO, "0")) - 1))

    def _on_too_low(self) -> None:
        found = self.sequence.too_low(self._expected())
        session = quickfix.Session.lookupSession(self.session_id)
        if found.allowed:  # the engine refused the broker's logon because of its number
            session.setNextTargetMsgSeqNum(found.new_target)
        else:
            self._give_up(session)  # further tries use numbers until one fits by chance
        self._listener.reset(found)

    def _give_up(self, session: quickfix.Session) -> None:
        self.is_leaving = True
        session.logout()

    def _on_flagged(self) -> None:
        """Handle the broker's logon with 141=Y, after which the engine has reset its numbers.

        This logon is always rejected. Our next logon agrees to an allowed reset with 141=Y.
        """
        self._reject_logon = True
        session = quickfix.Session.lookupSession(self.session_id)
        found = self.sequence.flagged()
        if found is None or found.allowed:
            session.setResetOnLogon(True)
        else:
            self._refused = found
            self._give_up(session)
        if found is not None:
            self._listener.reset(found)

    def _on_admin(self, raw: str) -> None:
        self._engine_thread = threading.get_ident()
        fields = dict(read_message(raw))
        self.traffic.note("in", fields)
        if fields[MSG_TYPE] == _LOGON and fields.get(_RESET_FLAG) == "Y" and not self._own_reset:
            self._on_flagged()
        self._count(fields)
        if fields[MSG_TYPE] == _LOGOUT:
            self._peer_reason = fields.get(58, "")
        elif fields[MSG_TYPE] == _SESSION_REJECT:
            self._keep(raw)
        elif fields[MSG_TYPE] == _RESEND_REQUEST:
            self.resent_us = monotonic_us()
        elif fields[MSG_TYPE] == _HEARTBEAT and _TEST_REQ_ID in fields:
            self._listener.heartbeat(fields[_TEST_REQ_ID])

    def _on_app(self, raw: str) -> None:
        self._keep(raw)
        with contextlib.suppress(MessageError, KeyError, ValueError):  # the gateway judges it
            fields = dict(reversed(read_message(raw)))
            self.traffic.note("in", fields)
            self._count(fields)

    def _keep_untaken(self, leaving: Mapping[int, str]) -> None:
        """Keep a message that the engine rejects now or could not parse; on its own thread."""
        if threading.get_ident() != self._engine_thread:
            return
        rejects = leaving[MSG_TYPE] in _REJECTS
        number = int(leaving.get(_REF_SEQ_NUM, "0")) if rejects else self._expected()
        raw = self._wire.untaken(number)
        if raw:
            self._keep(raw)
            self.sequence.received(number)
            if self._expected() == number:  # else it is asked for again, without end
                quickfix.Session.lookupSession(self.session_id).setNextTargetMsgSeqNum(number + 1)

    def _keep(self, raw: str) -> None:
        try:
            entry = self._inbox.append(self._wire.original(raw))
        except BaseException as error:  # noqa: BLE001  # a report must not be counted and lost
            self._fault(INBOX_LOST, error)
            sys.stderr.write(f"fix child: inbox lost, leaving: {error!r}\n")
            sys.stderr.flush()
            os._exit(EXIT_INBOX_LOST)
        self._listener.received(entry)

    def _guarded(self, where: str, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # noqa: BLE001  # see the module's first rule
            self._fault(where, error)

    def _fault(self, where: str, error: BaseException) -> None:
        """Close egress, then report; neither may raise."""
        self._gate.close(f"fault in {where}")
        try:
            self._listener.fault(where, repr(error)[:500])
        except BaseException as second:  # noqa: BLE001
            sys.stderr.write(f"fix child: fault in {where}: {error!r}; then {second!r}\n")


class InitiatorSession:
    """One FIX session as initiator, with store and log in `folder`; `start` connects."""

    def __init__(self, profile: Profile, folder: Path, callbacks: Callbacks) -> None:
        store, log, words = folder / "store", folder / "log", words_of(profile)
        text = initiator_settings(
            profile, store=str(store), log=str(log), dictionary=words[-1], transport=words[0]
        )
        settings_path = folder / "session.cfg"
        settings_path.write_text(text, encoding="ascii")
        self._callbacks = callbacks
        self._settings = quickfix.SessionSettings(str(settings_path))
        self._store_factory = quickfix.FileStoreFactory(self._settings)
        self._log_factory = quickfix.FileLogFactory(self._settings)
        self._profile = profile
        self._dictionaries = tuple(map(quickfix.DataDictionary, words))
        self._initiator = quickfix.SocketInitiator(
            callbacks, self._store_factory, self._settings, self._log_factory
        )
        self._id = quickfix.SessionID(*ids_of(profile))
        callbacks.session_id = self._id
        self.sequence = callbacks.sequence
        self._egress = threading.Lock()
        self._started, self._dialling = False, Dialling(profile)
        self._ready: tuple[Fields, quickfix.Message | None] = ((), None)

    @property
    def is_logged_on(self) -> bool:
        """Whether the session is up."""
        return self._callbacks.is_logged_on

    @property
    def is_started(self) -> bool:
        """Whether the engine connects and reconnects by itself."""
        return self._started

    @property
    def resent_us(self) -> int:
        """Monotonic time of the broker's last ResendRequest in this logon; 0 if none."""
        return self._callbacks.resent_us

    def numbers(self) -> tuple[int, int]:
        """Return the next sequence numbers, ours and the broker's."""
        session = quickfix.Session.lookupSession(self._id)
        return int(session.getExpectedSenderNum()), int(session.getExpectedTargetNum())

    def opened(self) -> Reset | None:
        """Return the reset that the engine made as it opened its store; call it before `start`.

        A refused reset that a crash left in the store is undone first.
        """
        refused = self._callbacks.sequence.last_refused
        if refused is not None and self.numbers()[0] < refused.old_sender:
            self._callbacks.put_back(refused)
        return self._callbacks.sequence.opened(self.numbers()[0])

    def expect_from_first(self) -> None:
        """Request the broker's messages from number 1 on; only before `start`."""
        quickfix.Session.lookupSession(self._id).setNextTargetMsgSeqNum(1)

    def raise_sender(self, number: int) -> None:
        """Raise our next number to the ledger's; only before `start`."""
        quickfix.Session.lookupSession(self._id).setNextSenderMsgSeqNum(number)

    def start(self) -> None:
        """Connect, log on and stay connected, on the engine's own thread."""
        if not self._started:
            self._started = True
            self._initiator.start()

    def redial(self, now_us: int, *, hurry: bool) -> None:
        """Let the engine try to log on at the profile's interval, or every second if `hurry`."""
        session = quickfix.Session.lookupSession(self._id)
        if not self._started or self._callbacks.is_leaving or self.is_logged_on:
            return
        self._dialling.step(session, now_us, hurry=hurry)

    def stop(self) -> None:
        """Log out; return when the session has ended, and exit next.

        The engine's own stop sleeps for seconds. The answer to a TestRequest wakes it.
        """
        session = quickfix.Session.lookupSession(self._id)
        was_on = self.is_logged_on
        self._callbacks.logout_begins()
        if self._started and was_on:
            session.logout()
            self.probe("before logout")
            self._callbacks.ended.wait(_LOGOUT_S)

    def probe(self, test_req_id: str) -> None:
        """Send a TestRequest with this TestReqID (112)."""
        fields: Fields = ((MSG_TYPE, "1"), (_TEST_REQ_ID, test_req_id))
        quickfix.Session.sendToTarget(self._message(fields), self._id)

    def prepare(self, fields: Fields) -> None:
        """Build the message of the order that may be sent next, to be used once."""
        self._ready = fields, self._message(fields)

    def send(self, fields: Fields) -> Sent | Refusal:
        """Send one message now or never; a refusal uses no sequence number."""
        (prepared, message), self._ready = self._ready, ((), None)
        if message is None or prepared != fields:
            message = self._message(fields)
        leaving = self._callbacks.leaving
        with self._egress:
            if not self.is_logged_on:
                return Refusal.NOT_LOGGED_ON
            leaving.sent, leaving.refusal = None, Refusal.NOT_LOGGED_ON
            quickfix.Session.sendToTarget(message, self._id)
        sent: Sent | None = leaving.sent
        refusal: Refusal = leaving.refusal
        return sent if sent is not None else refusal

    def _message(self, fields: Fields) -> quickfix.Message:
        text = text_for(self._profile, fields)
        return quickfix.Message(text, *self._dictionaries, False)  # noqa: FBT003

    def nothing_in_flight(self, timeout_s: float) -> bool:
        """Wait until no send is between guard and wire: with the gate shut, none follows."""
        free = self._egress.acquire(timeout=timeout_s)
        if free:
            self._egress.release()
        return free
