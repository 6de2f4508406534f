"""A broker in process that answers by a fixed deck, and messages framed as its own."""

from collections.abc import Callable
from typing import Any

from fix.session.link import HandResult
from fix.wire.messages import Fields, decimal_text, timestamp
from gateway.clock import wall_us
from gateway.walk.settlement import Received

MSG_TYPE = 35
DECK = ("fill", "fill", "partial", "fill", "reject", "fill")


class AnswersAtOnce:
    """A broker in process: what it is handed is answered by the deck, when asked to."""

    def __init__(self) -> None:
        """Start with an empty inbox."""
        self.orders: list[tuple[str, dict[int, str]]] = []
        self.cancelled: list[tuple[str, str]] = []
        self.cancel_answer = HandResult(outcome="sent", msg_seq_num=9)
        self.hand_answer: HandResult | None = None
        self.sweeps = 0
        self.deck: tuple[str, ...] = DECK
        self._executions = self._offset = self._answered = 0

    def prepare(self, cl_ord_id: str, fields: tuple[tuple[int, str], ...]) -> None:
        """Nothing to do: an order counts when it is handed out."""

    def go(self, *order: Any) -> Callable[[], HandResult]:  # noqa: ANN401 - as `hand`
        result = self.hand(*order)
        return lambda: result

    def hand(
        self,
        cl_ord_id: str,
        fields: tuple[tuple[int, str], ...],
        kill_epoch: int,  # noqa: ARG002 - the real child compares it
        send_before_us: int,  # noqa: ARG002 - the real child compares it
        until_us: int,  # noqa: ARG002 - the real child compares it
    ) -> HandResult:
        """Take an order; it counts as sent."""
        if self.hand_answer is not None:
            return self.hand_answer
        self.orders.append((cl_ord_id, dict(fields)))
        number = len(self.orders) + 1
        header = ((49, "COUNTERSIGN"), (56, "EMSSIM"), (34, str(number)))
        return HandResult(
            outcome="sent", msg_seq_num=number, raw=framed(dict(fields)[35], (*header, *fields))
        )

    def kill(self, kill_epoch: int, timeout_s: float = 0.1) -> bool:  # noqa: ARG002 - always at once
        """Confirm a kill."""
        return True

    def cancel_order(self, order: Fields, cancel_id: str) -> HandResult:
        """Take a cancel."""
        self.cancelled.append((dict(order)[11], cancel_id))
        return self.cancel_answer

    def drill(self, timeout_s: float = 0.1) -> bool:  # noqa: ARG002 - always at once
        """Answer a drill."""
        return True

    def sweep(self) -> bool:
        """Take a request to cancel everything."""
        self.sweeps += 1
        return True

    def answers(self) -> list[Received]:
        """Return the reports for every order not yet answered."""
        reports = []
        for place in range(self._answered, len(self.orders)):
            name, order = self.orders[place]
            outcome = self.deck[place % len(self.deck)]
            quantity = int(order[38])
            half = quantity // 2
            parts = {"fill": (quantity,), "partial": (half, quantity - half)}.get(outcome, (0,))
            done = 0
            for part in parts:
                done += part
                reports.append(self._report(name, order, part, done, quantity))
        self._answered = len(self.orders)
        return reports

    def _report(
        self, name: str, order: dict[int, str], part: int, done: int, quantity: int
    ) -> Received:
        self._executions += 1
        rejected = done == 0
        status = "8" if rejected else "2" if done == quantity else "1"
        fields = [
            *((49, "EMSSIM"), (56, "COUNTERSIGN")),
            (34, str(self._executions + 1)),
            (52, timestamp(wall_us())),
            (37, f"SIM{len(self.orders):06d}"),
            (11, name),
            (17, f"E{self._executions:06d}"),
            (150, "8" if rejected else "F"),
            (39, status),
            (55, order[55]),
            (54, order[54]),
            (38, order[38]),
            (151, str(0 if rejected else quantity - done)),
            (14, str(done)),
            (6, order[44] if done else "0"),
            (60, timestamp(wall_us())),
        ]
        if rejected:
            fields += [(103, "0"), (58, "simulator: rejected by script")]
        else:
            fee = round(float(order[44]) * part) // 100
            fields += [(32, str(part)), (31, order[44]), (12, decimal_text(fee, 2)), (13, "3")]
        raw = framed("8", tuple(fields))
        self._offset += len(raw)
        return Received(offset=self._offset, raw=raw)


def framed(msg_type: str, fields: tuple[tuple[int, str], ...]) -> str:
    """Return fields as a FIX 4.4 message with length and checksum."""
    pairs = ((35, msg_type), *(pair for pair in fields if pair[0] != MSG_TYPE))
    body = "".join(f"{tag}={value}\x01" for tag, value in pairs)
    text = f"8=FIX.4.4\x019={len(body)}\x01{body}"
    return f"{text}10={sum(text.encode('latin-1')) % 256:03d}\x01"
