"""The yardstick of `bench_fix.py`: quickfix as it comes, with the same settings as our session."""

import threading
from collections.abc import Sequence
from pathlib import Path

import quickfix

from fix.dialects.engine_settings import ids_of, initiator_settings
from fix.dialects.profile import Profile
from fix.session.dictionaries import words_of
from fix.wire.messages import wire_text

LOGON_S = 40.0


class BareInitiator(quickfix.Application):  # type: ignore[misc]  # no types of its own
    """quickfix as it comes: a session, no gate, no journal."""

    def __init__(self, profile: Profile, folder: Path) -> None:
        super().__init__()
        self._on = threading.Event()
        for name in ("store", "log"):
            (folder / name).mkdir(parents=True)
        text = initiator_settings(
            profile,
            store=str(folder / "store"),
            log=str(folder / "log"),
            dictionary=words_of(profile)[-1],
            transport=words_of(profile)[0],
        )
        (folder / "bare.cfg").write_text(text, encoding="ascii")
        self._settings = quickfix.SessionSettings(str(folder / "bare.cfg"))
        self._stores = quickfix.FileStoreFactory(self._settings)
        self._logs = quickfix.FileLogFactory(self._settings)
        self._dictionary = quickfix.DataDictionary(words_of(profile)[-1])
        self._engine = quickfix.SocketInitiator(self, self._stores, self._settings, self._logs)
        self._id = quickfix.SessionID(*ids_of(profile))

    def start(self) -> None:
        """Log on."""
        self._engine.start()
        if not self._on.wait(LOGON_S):
            raise SystemExit("bench: the bare initiator does not log on")

    def send(self, fields: Sequence[tuple[int, str]]) -> None:
        """Send one message."""
        message = quickfix.Message(wire_text(tuple(fields)), self._dictionary, False)  # noqa: FBT003
        quickfix.Session.sendToTarget(message, self._id)

    def onCreate(self, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogon(self, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Note the logon."""
        self._on.set()

    def onLogout(self, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def toAdmin(self, message: quickfix.Message, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def toApp(self, message: quickfix.Message, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def fromAdmin(self, message: quickfix.Message, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def fromApp(self, message: quickfix.Message, _id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""
