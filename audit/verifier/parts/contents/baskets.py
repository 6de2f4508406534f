"""Baskets: no order of one left before the whole was approved on record.

Not here: how the whole was judged; the gateway's replay computes that again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Report


@dataclass(slots=True)
class Baskets:
    """Baskets, their legs and the legs' orders; give it every record, then call `finish`."""

    _received: dict[str, int] = field(default_factory=dict)
    _decided: dict[str, tuple[int, str]] = field(default_factory=dict)
    _legs: dict[str, tuple[str, int]] = field(default_factory=dict)
    _sent: dict[str, int] = field(default_factory=dict)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        name, seq, stream = str(body.get("basket_id")), head["seq"], head["stream"]
        match head["kind"]:
            case "basket_received":
                self._received.setdefault(name, seq)
            case "basket_decided":
                self._decided.setdefault(name, (seq, str(body.get("outcome"))))
            case "intent_received" if "basket_id" in body:
                self._legs.setdefault(stream, (name, seq))
            case "order_sending":
                self._sent.setdefault(stream, seq)
            case _:
                pass

    def finish(self, report: Report, *, whole: bool, bundle: bool = False) -> None:
        """Judge what was seen; what a part of a log does not show is not judged."""
        for seq, text in self._missing():
            if whole or bundle:
                report.find(TAMPERED if whole else INCOMPLETE, text, seq)
        for stream, (name, _) in self._legs.items():
            sent, (decided, outcome) = self._sent.get(stream), self._decided.get(name, (0, ""))
            if sent is None or not outcome:
                continue
            if outcome != "approved":
                report.find(TAMPERED, f"an order of basket {name} left, which was {outcome}", sent)
            elif decided > sent:
                text = f"an order of basket {name} left before the whole was decided"
                report.find(TAMPERED, text, sent)
        if whole and self._received:
            approved = sum(outcome == "approved" for _, outcome in self._decided.values())
            report.say(f"{approved} of {len(self._received)} baskets were approved as a whole")

    def _missing(self) -> Iterator[tuple[int, str]]:
        """Yield the records whose basket is not on record before them."""
        for stream, (name, seq) in self._legs.items():
            if self._received.get(name, seq) >= seq:
                yield seq, f"is a leg of basket {name}, which is not on record before it"
            if stream in self._sent and name not in self._decided:
                yield self._sent[stream], f"an order of basket {name} left without its outcome"
