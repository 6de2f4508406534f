"""A broker on an engine that is not QuickFIX: asyncfix, FIX 4.4, as a process of its own.

`python -m tests.doubles.other_engine FOLDER PORT SCRIPT [THEIR-COMPID]`. It checks every message
against the whole dictionary of FIX 4.4, as brokers do, and answers one that does not fit with a
Reject (3). Each message of either direction is a line of `wire.jsonl`. Lines on standard input:

    drop      break the connection
    nightly   begin both numbers at 1; the session is over
"""

import asyncio
import json
import logging
import sys
from pathlib import Path

from asyncfix import AsyncFIXDummyServer, ConnectionState, FIXMessage, Journaler
from asyncfix.codec import Codec
from asyncfix.errors import FIXMessageError
from asyncfix.message import MessageDirection
from asyncfix.protocol import FIXProtocol44
from asyncfix.protocol.schema import FIXSchema
from asyncfix.session import FIXSession
from typing_extensions import override

from tests.doubles.misreporting_broker import RAW, MisreportingBroker
from tests.doubles.plain_broker import Reply

STANDARD = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
US, THEM = "BROKER", "COUNTERSIGN"
SOH = "\x01"
REJECT = "3"


class CapturedJournal(Journaler):
    """The engine's own journal, which also writes every message to a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder / "journal.sqlite"))
        self._path = folder / "wire.jsonl"

    @override
    def persist_msg(self, msg: bytes, session: FIXSession, direction: MessageDirection) -> None:
        super().persist_msg(msg, session, direction)
        if direction == MessageDirection.OUTBOUND:
            self.note("out", msg)

    def note(self, direction: str, raw: bytes) -> None:
        """Append a message to the file."""
        row = {"direction": direction, "raw": raw.decode("latin-1")}
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")


class SpoilingCodec(Codec):
    """The engine's own codec, which puts bytes of its owner's at the end of the next message."""

    def __init__(self, protocol: FIXProtocol44) -> None:
        super().__init__(protocol)
        self.tail = ""

    @override
    def encode(self, msg: FIXMessage, session: FIXSession, raw_seq_num: bool = False) -> str:
        whole = super().encode(msg, session, raw_seq_num)
        tail, self.tail = self.tail, ""
        if not tail:
            return whole
        body = whole.split(SOH, 2)[2].rpartition("10=")[0] + tail
        raw = f"8={self.protocol.beginstring}{SOH}9={len(body)}{SOH}{body}"
        return f"{raw}10={sum(raw.encode()) % 256:03d}{SOH}"


class OtherBroker(AsyncFIXDummyServer):
    """The broker; the engine calls it for each application message."""

    def __init__(self, folder: Path, port: int, script: tuple[str, ...], them: str) -> None:
        self._capture = CapturedJournal(folder)
        super().__init__(
            FIXProtocol44(),
            US,
            them,
            self._capture,
            "127.0.0.1",
            port,
            logger=logging.getLogger("broker"),
        )
        self._codec = SpoilingCodec(FIXProtocol44())
        self._book = MisreportingBroker(folder / "orders.json", script, "FIX.4.4")
        self._standard = FIXSchema(str(STANDARD))

    @override
    async def on_connect(self) -> None:
        """Nothing to do."""

    @override
    async def _process_message(self, msg: FIXMessage, raw_msg: bytes) -> None:
        self._capture.note("in", raw_msg)  # the journal has it only after the answers have left
        await super()._process_message(msg, raw_msg)

    @override
    async def on_message(self, msg: FIXMessage) -> None:
        if msg["35"] == REJECT:
            return  # what was spoiled on purpose may be refused
        try:
            self._standard.validate(msg)
        except FIXMessageError as error:
            number, kind = msg["34"], str(msg["35"])
            said = str(error).replace("=", " ")[:100]
            await self._say({35: "3", 45: number, 372: kind, 373: "99", 58: said})
            return
        for reply in self._book.receive({int(tag): str(msg[tag]) for tag in msg.tags}):
            await self._say(reply)

    async def _say(self, reply: Reply) -> None:
        said = {tag: text for tag, text in reply.items() if tag not in {35, RAW}}
        message = FIXMessage(reply[35], said)
        self._standard.validate(message)
        self._codec.tail = reply.get(RAW, "").replace("|", SOH)
        await self.send_msg(message)

    async def drop(self) -> None:
        """Break the connection."""
        await self.disconnect(ConnectionState.DISCONNECTED_BROKEN_CONN)

    async def obey(self) -> None:
        """Follow the lines on standard input."""
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        while line := await reader.readline():
            if line.strip() == b"drop":
                await self.drop()
            elif line.strip() == b"nightly":
                await self.drop()
                await self.reset_seq_num()


async def main(folder: Path, port: int, script: tuple[str, ...], them: str = THEM) -> None:
    """Serve until killed."""
    broker = OtherBroker(folder, port, script, them)
    await asyncio.gather(broker.connect(), broker.obey())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    words = (Path(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3].split(",")))
    asyncio.run(main(*words, *sys.argv[4:]))
