"""A broker that lost our messages before the logon, and asks for them a moment later."""

from typing_extensions import override

from tests.doubles.raw_broker import RawBroker


class GappedBroker(RawBroker):
    """Ignores what comes before the gap fill, as an engine does that waits for an earlier number.

    Attributes:
        expects: our next MsgSeqNum as it counts, 0 until the gap is filled.
        lost: MsgSeqNums of new orders that arrived while it waited, and so were lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expects = 0
        self.lost: list[int] = []
        self._has_asked = False

    @override
    def answer(self, fields: dict[int, str]) -> None:
        if fields[35] == "4":
            self.expects = int(fields[36])
        elif fields[35] == "1" and not self.expects:
            if not self._has_asked:
                self._has_asked = True
                self.say("2", (7, "1"), (16, "0"))
        else:
            if fields[35] == "D" and not self.expects:
                self.lost.append(int(fields[34]))
            super().answer(fields)
