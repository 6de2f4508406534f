"""The quickfix initiator of the market data session; it lets nothing leave but 35=V.

Not here: what a message means, when something is asked (`subscriptions`).

A fault in a callback ends the process: its supervisor starts another, which asks anew.
"""

import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import quickfix

from fix.dialects.engine_settings import ids_of, initiator_settings
from fix.dialects.profile import Profile
from fix.session.dictionaries import words_of
from fix.session.listener import wire_view
from fix.wire.fields import MSG_TYPE, read_message
from fix.wire.market_data import REQUEST
from fix.wire.messages import Fields, parse, text_for

EXIT_FAULT: Final = 70
LOGOUT_S: Final = 2.0
_SEQ_NUM, _TEXT = 34, 58
_REJECT, _LOGOUT, _SEQUENCE_RESET = "3", "5", "4"


class Happened(NamedTuple):
    """What the session did: `what` is on, off, message or lost."""

    what: str
    text: str = ""


class MarketCallbacks(quickfix.Application):
    """quickfix's callbacks, which only queue."""

    def __init__(self, passed: "queue.SimpleQueue[Happened]") -> None:
        super().__init__()
        self._passed = passed
        self._reason = ""
        self.ended = threading.Event()
        self.left = 0
        """MsgSeqNum of the last request that left."""

    def onCreate(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogon(self, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue that both logons were exchanged."""
        self._reason = ""
        self._passed.put(Happened("on"))

    def onLogout(self, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue the end of the session, with the broker's reason if it gave one."""
        self.ended.set()
        self._passed.put(Happened("off", self._reason or "the session ended"))

    def toAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue our own Reject: the engine dropped a message that our dictionary does not fit."""
        _guarded(lambda: self._own_admin(wire_view(message.toString())))

    def fromAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue rejects, and a gap that the broker fills instead of sending again."""
        _guarded(lambda: self._admin(wire_view(message.toString())))

    def fromApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue an application message."""
        _guarded(lambda: self._passed.put(Happened("message", wire_view(message.toString()))))

    def toApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Let a request for market data leave, and nothing else."""
        header = message.getHeader()
        if header.getField(MSG_TYPE) != REQUEST:
            raise quickfix.DoNotSend
        self.left = int(header.getField(_SEQ_NUM))

    def _own_admin(self, raw: str) -> None:
        fields = dict(parse(raw))
        if fields[MSG_TYPE] == _REJECT:
            what = f"35={fields.get(372, '?')} does not fit the dictionary: {fields.get(_TEXT, '')}"
            self._passed.put(Happened("lost", f"{what} (tag {fields.get(371, '?')})"))

    def _admin(self, raw: str) -> None:
        fields = dict(read_message(raw))
        if fields[MSG_TYPE] == _LOGOUT:
            self._reason = fields.get(_TEXT, "")
        elif fields[MSG_TYPE] == _SEQUENCE_RESET:
            self._passed.put(Happened("lost", "the broker does not send lost messages again"))
        elif fields[MSG_TYPE] == _REJECT:
            self._passed.put(Happened("message", raw))


class MarketSession:
    """One market data session as initiator, with its numbers in `folder`; it keeps no log."""

    def __init__(
        self, profile: Profile, folder: Path, passed: "queue.SimpleQueue[Happened]"
    ) -> None:
        words = words_of(profile)
        text = initiator_settings(
            profile,
            store=str(folder / "store"),
            log=str(folder),
            dictionary=words[-1],
            transport=words[0],
            reconnect_s=profile.reconnect_s,
        )
        path = folder / "session.cfg"
        path.write_text(text, encoding="ascii")
        self._profile = profile
        self._callbacks = MarketCallbacks(passed)
        self._settings = quickfix.SessionSettings(str(path))
        self._stores = quickfix.FileStoreFactory(self._settings)
        self._dictionaries = tuple(map(quickfix.DataDictionary, words))
        self._initiator = quickfix.SocketInitiator(self._callbacks, self._stores, self._settings)
        self._id = quickfix.SessionID(*ids_of(profile))

    def start(self) -> None:
        """Connect, log on and stay connected, on the engine's own thread."""
        self._initiator.start()

    def send(self, fields: Fields) -> int:
        """Send one request now or never; return its MsgSeqNum, 0 if it did not leave."""
        session = quickfix.Session.lookupSession(self._id)
        if session is None or not session.isLoggedOn():
            return 0
        self._callbacks.left = 0
        message = quickfix.Message(text_for(self._profile, fields), *self._dictionaries, False)  # noqa: FBT003
        quickfix.Session.sendToTarget(message, self._id)
        return self._callbacks.left

    def stop(self) -> None:
        """Log out and wait shortly for the end; the process must exit next."""
        session = quickfix.Session.lookupSession(self._id)
        if session is not None and session.isLoggedOn():
            self._callbacks.ended.clear()
            session.logout()
            self._callbacks.ended.wait(LOGOUT_S)


def _guarded(body: Callable[[], None]) -> None:
    try:
        body()
    except BaseException as error:  # noqa: BLE001  # see the module
        sys.stderr.write(f"market data child: {error!r}\n")
        sys.stderr.flush()
        os._exit(EXIT_FAULT)
