"""A broker on QuickFIX's own acceptor, with the whole dictionary of a version, as a process.

`python -m tests.doubles.quickfix_engine FOLDER PORT SCRIPT VERSION [THEIR-COMPID]`.
The engine itself refuses what
its version does not have. Each message of either direction is a line of `wire.jsonl`. Lines on its
standard input:

    drop      break the connection
    nightly   begin both numbers at 1; the session is over
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path

import quickfix

from tests.doubles.plain_broker import PlainBroker, Reply

SHARE = Path(sys.prefix) / "share" / "quickfix"
US, THEM = "BROKER", "COUNTERSIGN"
TRANSPORT = {"FIX.5.0SP2": "FIXT.1.1"}


def text_of(message: quickfix.Message) -> str:
    raw: str = message.toString()
    return raw


class Acceptor(quickfix.Application):
    """quickfix's callbacks; a fault ends the process."""

    def __init__(self, folder: Path, script: tuple[str, ...], version: str) -> None:
        super().__init__()
        self._wire = folder / "wire.jsonl"
        self._book = PlainBroker(folder / "orders.json", script, version)
        self.dictionaries: tuple[quickfix.DataDictionary, ...] = ()
        self._begins = TRANSPORT.get(version, version)

    def onCreate(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogon(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogout(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def toAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        self._note("out", message)

    def toApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        self._note("out", message)

    def fromAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        self._note("in", message)

    def fromApp(self, message: quickfix.Message, session_id: quickfix.SessionID) -> None:  # noqa: N802
        raw = self._note("in", message)
        pairs = [part.partition("=") for part in raw.split("\x01") if part]
        try:
            replies = self._book.receive({int(tag): text for tag, _, text in pairs})
        except BaseException:  # noqa: BLE001 - a broker that is wrong must not go on
            traceback.print_exc()
            os._exit(70)
        for reply in replies:
            self._say(reply, session_id)

    def _say(self, reply: Reply, session_id: quickfix.SessionID) -> None:
        body = "".join(f"{tag}={text}\x01" for tag, text in reply.items())
        raw = f"8={self._begins}\x019={len(body)}\x01{body}"
        raw += f"10={sum(raw.encode()) % 256:03d}\x01"
        message = quickfix.Message(raw, *self.dictionaries, False)  # noqa: FBT003
        quickfix.Session.sendToTarget(message, session_id)

    def _note(self, direction: str, message: quickfix.Message) -> str:
        raw = text_of(message)
        with self._wire.open("a") as file:
            file.write(json.dumps({"direction": direction, "raw": raw}) + "\n")
        return raw


def main(folder: Path, port: int, script: tuple[str, ...], version: str, them: str = THEM) -> None:
    """Serve until killed."""
    begins = TRANSPORT.get(version, version)
    files = [str(SHARE / f"{version.replace('.', '')}.xml")]
    words = [f"DataDictionary={files[0]}"]
    if begins != version:
        files.insert(0, str(SHARE / f"{begins.replace('.', '')}.xml"))
        words = [f"TransportDataDictionary={files[0]}", f"AppDataDictionary={files[1]}"]
        words.append(f"DefaultApplVerID={version}")
    lines = [
        "[DEFAULT]",
        "ConnectionType=acceptor",
        "NonStopSession=Y",
        f"FileStorePath={folder / 'store'}",
        f"FileLogPath={folder / 'log'}",
        "UseDataDictionary=Y",
        *words,
        "SocketReuseAddress=Y",
        f"SocketAcceptPort={port}",
        "[SESSION]",
        f"BeginString={begins}",
        f"SenderCompID={US}",
        f"TargetCompID={them}",
    ]
    settings_path = folder / "acceptor.cfg"
    settings_path.write_text("\n".join(lines) + "\n")
    settings = quickfix.SessionSettings(str(settings_path))
    application = Acceptor(folder, script, version)
    application.dictionaries = tuple(map(quickfix.DataDictionary, files))
    stores, logs = quickfix.FileStoreFactory(settings), quickfix.FileLogFactory(settings)
    acceptor = quickfix.SocketAcceptor(application, stores, settings, logs)
    acceptor.start()
    session_id = quickfix.SessionID(begins, US, them)

    def obey() -> None:
        for line in sys.stdin:
            if line.strip() == "drop":
                quickfix.Session.lookupSession(session_id).disconnect()
            elif line.strip() == "nightly":
                quickfix.Session.lookupSession(session_id).reset()

    threading.Thread(target=obey, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3].split(",")), *sys.argv[4:])
