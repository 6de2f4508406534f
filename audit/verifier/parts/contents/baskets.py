"""Baskets: their legs are on record, and no order left before the whole was approved.

A basket is `basket_received`, the intents that it names, their verdicts, and `basket_decided`,
which names each leg with its verdict. Each of them is held against the others.

Not here: how the whole was judged; the gateway's replay computes that again.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import canonical, text_of
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Report

_LEG_OF = "decision/"
_GOES_ON = frozenset({"approved", "no_trade"})
_VERDICTS = frozenset({"approved", "held"})
Found = Iterator[tuple[bool, str, int]]
"""Findings: whether it is about what is missing, the text, and the record's number."""


@dataclass(slots=True)
class _Leg:
    """A decision that is a leg: the number, basket and request of its intent, its verdicts."""

    seq: int = -1
    basket: str | None = None
    request: object = None
    verdicts: dict[int, str] = field(default_factory=dict)
    awaited: int = 0
    gap: bool = False
    sent: int | None = None

    @property
    def is_shown(self) -> bool:
        """Return whether all records of the decision are here so far."""
        return self.seq >= 0 and not self.gap


@dataclass(slots=True)
class Baskets:
    """Baskets, their legs and the legs' orders; give it every record, then call `finish`."""

    _received: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _decided: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _twice: list[tuple[int, str]] = field(default_factory=list)
    _named: dict[str, str] = field(default_factory=dict)
    _legs: dict[str, _Leg] = field(default_factory=dict)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        kind, stream = head["kind"], head["stream"]
        if kind in {"basket_received", "basket_decided"}:
            self._whole(kind, head["seq"], body)
        elif kind == "intent_received" and ("basket_id" in body or stream in self._named):
            basket = text_of(body["basket_id"]) if "basket_id" in body else None
            seq, place = head["seq"], head["stream_seq"]
            request = body.get("request")
            leg = _Leg(seq=seq, basket=basket, request=request, awaited=place + 1, gap=place > 0)
            self._legs.setdefault(stream, leg)
        elif stream in self._legs:
            _follow(self._legs[stream], head, body)

    def _whole(self, kind: str, seq: int, body: Mapping[str, Any]) -> None:
        """Take a record of a basket as a whole; each basket has one of each kind."""
        name = text_of(body.get("basket_id"))
        known = self._received if kind == "basket_received" else self._decided
        if name in known:
            self._twice.append((seq, f"is a second {kind} of basket {name}"))
        known.setdefault(name, (seq, body))
        if kind == "basket_received":
            for leg in _texts(body.get("legs")):
                self._named.setdefault(_LEG_OF + leg, name)

    def finish(self, report: Report, *, whole: bool, bundle: bool = False) -> None:
        """Judge what was seen; what a part of a log does not show is not judged."""
        for seq, text in self._twice:
            report.find(TAMPERED, text, seq)
        for missing, text, seq in self._faults(whole=whole):
            if not missing or whole:
                report.find(TAMPERED, text, seq)
            elif bundle:
                report.find(INCOMPLETE, text, seq)
        if whole and self._received:
            outcomes = [text_of(body.get("outcome")) for _, body in self._decided.values()]
            approved = outcomes.count("approved")
            report.say(f"{approved} of {len(self._received)} baskets were approved as a whole")

    def _faults(self, *, whole: bool) -> Found:
        for stream, leg in self._legs.items():
            yield from self._of_leg(stream, leg)
        for name, (seq, body) in self._received.items():
            yield from self._of_received(name, seq, body, whole=whole)
        for name, (seq, body) in self._decided.items():
            yield from self._of_decided(name, seq, body, whole=whole)

    def _of_leg(self, stream: str, leg: _Leg) -> Found:
        """Yield what a leg's intent and order contradict."""
        named, name = self._named.get(stream), leg.basket
        if name is not None and self._received.get(name, (leg.seq, {}))[0] >= leg.seq:
            yield True, f"is a leg of basket {name}, which is not on record before it", leg.seq
        elif name is not None and named != name:
            yield False, f"is a leg of basket {name}, which does not name it", leg.seq
        if named is not None and named != name:
            yield False, f"is named as a leg by basket {named}, and does not say so", leg.seq
        if leg.sent is None:
            return
        for one in dict.fromkeys(filter(None, (name, named))):
            if one not in self._decided:
                yield True, f"an order of basket {one} left without its outcome", leg.sent
                continue
            decided, body = self._decided[one]
            outcome = text_of(body.get("outcome"))
            if outcome != "approved":
                yield False, f"an order of basket {one} left, which was {outcome}", leg.sent
            elif decided > leg.sent:
                yield False, f"an order of basket {one} left before the whole was decided", leg.sent

    def _of_received(self, name: str, seq: int, body: Mapping[str, Any], *, whole: bool) -> Found:
        """Yield what a basket names that its legs do not have."""
        names = _texts(body.get("legs"))
        if not names or len(set(names)) != len(names):
            yield False, f"basket {name} does not name each of its legs once", seq
        legs = [self._legs.get(_LEG_OF + one) for one in names]
        for one, leg in zip(names, legs, strict=True):
            if whole and leg is None:
                text = f"basket {name} names the leg {one}, which is not on record after it"
                yield True, text, seq
        if all(leg is not None for leg in legs):
            requests = canonical([leg.request for leg in legs if leg is not None])
            if hashlib.sha256(requests).hexdigest() != body.get("digest"):
                yield False, f"the digest of basket {name} is not that of its legs' requests", seq

    def _of_decided(self, name: str, seq: int, body: Mapping[str, Any], *, whole: bool) -> Found:
        """Yield what an outcome says that the basket and the legs' verdicts do not."""
        outcome, rows = text_of(body.get("outcome")), body.get("legs")
        rows = rows if isinstance(rows, list) else []
        legs = [row if isinstance(row, dict) else {} for row in rows]
        received, asked = self._received.get(name, (seq, {}))
        if received >= seq:
            yield True, f"is the outcome of basket {name}, which is not on record before it", seq
        elif canonical(body.get("received_seq")) != canonical(received):
            yield False, f"is the outcome of basket {name}, and names another record of it", seq
        names = [leg.get("decision_id") for leg in legs]
        if asked and canonical(names) != canonical(asked.get("legs")):
            yield False, f"the outcome of basket {name} names other legs than the basket", seq
        results = [text_of(leg.get("result")) for leg in legs]
        if not _allowed(outcome, results):
            yield False, f"basket {name} is {outcome}, its legs are {', '.join(results)}", seq
        for leg in legs:
            shown = self._legs.get(_LEG_OF + text_of(leg.get("decision_id")))
            if shown is not None and shown.is_shown:
                yield from _of_row(name, seq, leg, shown, stopped=outcome == "stopped")
            elif whole and shown is None:
                text = f"basket {name} was decided with the leg {text_of(leg.get('decision_id'))}"
                yield True, f"{text}, which is not on record", seq


def _follow(leg: _Leg, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Take the next record of a leg's decision."""
    leg.gap = leg.gap or head["stream_seq"] != leg.awaited
    leg.awaited = head["stream_seq"] + 1
    if head["kind"] == "verdict_given":
        leg.verdicts[head["seq"]] = text_of(body.get("result"))
    elif head["kind"] in {"order_sending", "order_sent"} and leg.sent is None:
        leg.sent = head["seq"]


def _allowed(outcome: str, results: Sequence[str]) -> bool:
    """Return whether an outcome is possible with these results of the legs."""
    if outcome == "approved":
        return set(results) <= _GOES_ON and "approved" in results
    return outcome != "no_trade" or set(results) == {"no_trade"}


def _of_row(name: str, seq: int, row: Mapping[str, Any], leg: _Leg, *, stopped: bool) -> Found:
    """Yield what an outcome says of one leg that the leg's verdicts do not."""
    decision, result = text_of(row.get("decision_id")), text_of(row.get("result"))
    number = row.get("verdict_seq")
    before = {at: told for at, told in leg.verdicts.items() if at < seq}
    if type(number) is int:
        if before.get(number) != result:
            text = f"says {result} of leg {decision} by record {number}: no such verdict before it"
            yield False, f"the outcome of basket {name} {text}", seq
    elif result in _VERDICTS or "verdict_seq" in row or (before and not stopped):
        text = f"says {result} of leg {decision} and does not name its verdict"
        yield False, f"the outcome of basket {name} {text}", seq


def _texts(value: object) -> list[str]:
    """Return a list of texts; none if it has another shape."""
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(one, str) for one in rows) else []
