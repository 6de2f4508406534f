"""What earlier records said, as far as a statement about a later one needs it.

Memory grows with decisions; of a sealed one only the order's terms stay.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import canonical, text_of
from audit.verifier.parts.contents.approvals import FIX_SIDES, fields_of, order_name
from audit.verifier.parts.contents.statements.attempts import FORECASTS, SETS, Indexes, SeenAttempts
from audit.verifier.parts.contents.statements.messages import Message, message_of
from audit.verifier.parts.contents.statements.positions import Positions
from audit.verifier.parts.contents.statements.signed_kinds import SIGNED_KINDS
from audit.verifier.parts.trust.brokerfile import SCALE, units_of

LIMIT = "2"
TIMES_IN_FORCE = {"DAY": "0", "GTC": "1", "IOC": "3", "FOK": "4"}
_LARGE = re.compile(r"-?[1-9][0-9]{15,38}", re.ASCII)
OWN_STREAM = "decision/"


class VerifiedRecord(NamedTuple):
    """A record whose bytes were verified."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes

    @property
    def seq(self) -> int:
        """Its number."""
        return int(self.head["seq"])

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.head["kind"])

    @property
    def decision(self) -> str:
        """The decision whose stream it is in, or nothing."""
        stream = str(self.head["stream"])
        return stream.removeprefix(OWN_STREAM) if stream.startswith(OWN_STREAM) else ""

    @property
    def walked(self) -> bool:
        """Whether its stream is that of a decision, a forecast or joint paths."""
        return str(self.head["stream"]).startswith((OWN_STREAM, FORECASTS, SETS))


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return an object, empty for any other value."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[Any]:
    """Return a list, empty for any other value."""
    return value if isinstance(value, list) else []


def whole_of(value: object) -> int | None:
    """Return a whole number, which risk's documents write as text beyond 2^53 - 1."""
    if type(value) is int:
        return value
    if isinstance(value, str) and _LARGE.fullmatch(value):
        return int(value)
    return None


def whole_numbers(values: Sequence[object]) -> list[int] | None:
    """Return the values if each is a whole number, else None."""
    found = [one for one in values if type(one) is int]
    return found if len(found) == len(values) else None


def is_given(value: object) -> bool:
    """Return whether a value is there and not the empty text."""
    return value is not None and value != ""


def same(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: 1 is not true."""
    return canonical(one) == canonical(other)


def tagged_digest(tag: str, document: object) -> str:
    """Return the digest of a document of the rules: a tag's line, then its canonical bytes."""
    return hashlib.sha256(f"{tag}\n".encode() + canonical(document)).hexdigest()


@dataclass(slots=True)
class SeenOrder:
    """An announced order: its fields, its terms now, and the replaces that were asked for."""

    intent: Mapping[str, Any]
    fields: Mapping[Any, str]
    name: str
    terms: Mapping[str, Any]
    filled: int = 0
    asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class SeenSet(NamedTuple):
    """Joint paths: number and leaf of their record, their digest and number, and the members.

    `members` has forecast, attempt and whose paths by instrument, in the record's order.
    """

    place: tuple[int, str]
    result: tuple[object, object]
    members: Mapping[str, tuple[object, object, object]]


@dataclass(slots=True)
class SeenDecision:
    """The records of one decision so far; `gap` if an earlier one is not here.

    `taken` says which forecast it rests on now; an approval asks for another. `paths` are those
    that the intent rests on; None until one is proposed.
    """

    records: int = 0
    gap: bool = False
    account: object = None
    request: Mapping[str, Any] = field(default_factory=dict)
    author: object = None
    taken: Mapping[str, Any] | None = None
    paths: object = None
    proposed: tuple[Mapping[str, Any], object] | None = None
    verdicts: dict[int, tuple[Mapping[str, Any], bytes]] = field(default_factory=dict)
    agreed: Mapping[str, Any] | None = None
    order: SeenOrder | None = None


@dataclass(slots=True)
class Earlier:
    """The fold. `whole` says whether every record so far is here: a bundle shows some only.

    `fees` has what a trade charged, in minor units, by the record that booked it.
    `named` has the decision and the side of an order by each ClOrdID that it may have had.
    """

    whole: bool = True
    log: str = ""
    first: bytes = b""
    runs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    instruments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    policies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    in_force: str = ""
    decisions: dict[str, SeenDecision] = field(default_factory=dict)
    reads: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    messages: dict[tuple[str, str], Message] = field(default_factory=dict)
    presses: dict[str, object] = field(default_factory=dict)
    stops: dict[str, object] = field(default_factory=dict)
    tested: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    acts: dict[int, list[object]] = field(default_factory=dict)
    differences: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    named: dict[str, tuple[str, object]] = field(default_factory=dict)
    fees: dict[int, object] = field(default_factory=dict)
    held: Positions = field(default_factory=Positions)
    attempts: SeenAttempts = field(default_factory=SeenAttempts)
    indexes: Indexes = field(default_factory=Indexes)
    joined: dict[str, SeenSet] = field(default_factory=dict)
    modes: set[str] = field(default_factory=set)
    mode: str = ""
    mode_seq: int = -1
    mode_limits: object = ""

    @property
    def log_id(self) -> str:
        """The origin and the first record's leaf; nothing where the first record is not shown."""
        return f"{self.log}#{self.first.hex()}" if self.first else ""

    def of(self, said: VerifiedRecord) -> SeenDecision:
        """Return what is known of a record's decision."""
        return self.decisions.get(said.decision) or SeenDecision(gap=True)

    def enter(self, said: VerifiedRecord) -> None:
        """Note that a record comes, before it is judged."""
        self.log = said.head["log"]
        if said.seq == 0:
            self.first = said.leaf
        self.attempts.enter(said.head)
        self.indexes.enter(said.head)
        if said.decision:
            own = self.decisions.setdefault(said.decision, SeenDecision())
            own.gap = own.gap or own.records != said.head["stream_seq"]
            own.records += 1
            if own.account is None:
                own.account = said.body.get("account")

    def take(self, said: VerifiedRecord) -> None:
        """Fold a record, after it was judged."""
        self.held.take(said.seq, said.kind, said.body)
        self.attempts.take(said.head, said.body, said.leaf)
        self.indexes.take(said.head, said.body)
        taken = _TAKEN.get(said.kind)
        if taken is not None:
            taken(self, said)

    def knows(self, symbol: object) -> bool:
        """Return whether the units of an instrument are on record."""
        return text_of(symbol) in self.instruments

    def instrument(self, symbol: object) -> Mapping[str, Any]:
        """Return the units of an instrument, empty if they are not on record."""
        return self.instruments.get(text_of(symbol), {})

    def unit_of(self, symbol: object) -> int | None:
        """Return the minor units of one lot and tick of an instrument, None if it is unknown."""
        names = ("tick_minor", "lot", "multiplier")
        numbers = whole_numbers([self.instrument(symbol).get(name) for name in names])
        return None if numbers is None else math.prod(numbers)

    def priced(self, symbol: object, ticks: object, price: object) -> bool:
        """Return whether a price in text is so many ticks of an instrument."""
        tick = self.instrument(symbol).get("tick_minor")
        digits, units = self.profile.get("minor_digits"), units_of(text_of(price))
        if type(tick) is not int or type(digits) is not int or type(ticks) is not int:
            return False
        if units is None or digits < 0:
            return False
        return bool(units * 10**digits == ticks * tick * 10**SCALE)

    def counted(self, symbol: object, lots: object, quantity: object) -> bool:
        """Return whether a quantity in text is so many lots of an instrument."""
        lot = self.instrument(symbol).get("lot")
        if type(lot) is not int or type(lots) is not int:
            return False
        return bool(units_of(text_of(quantity)) == lots * lot * 10**SCALE)


def _run(seen: Earlier, said: VerifiedRecord) -> None:
    seen.runs[text_of(said.body.get("run_id"))] = {n: said.body.get(n) for n in ("mode", "dev")}
    seen.modes.add(text_of(said.body.get("mode")))
    seen.profile = mapping_of(said.body.get("order_profile"))
    seen.session = text_of(mapping_of(said.body.get("fix_profile")).get("name"))
    if said.body.get("dev") is not True:
        seen.mode = text_of(said.body.get("mode"))
    for one in list_of(said.body.get("instruments")):
        seen.instruments[text_of(mapping_of(one).get("symbol"))] = mapping_of(one)


def _listing(seen: Earlier, said: VerifiedRecord) -> None:
    one = mapping_of(said.body.get("instrument"))
    seen.instruments[text_of(one.get("symbol"))] = one


def _policy(seen: Earlier, said: VerifiedRecord) -> None:
    seen.in_force = text_of(said.body.get("policy_digest"))
    seen.policies[seen.in_force] = mapping_of(said.body.get("policy"))


def _asked(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.request, own.author = mapping_of(said.body.get("request")), said.body.get("author")


def _forecast(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    names = ("instrument", "of_seq", "forecast_id")
    own.taken = {
        **{name: said.body.get(name) for name in names},
        "forecast_attempt": said.body.get("forecast_attempt", 0),
        "seq": said.seq,
    }
    if own.author is None:
        own.author = said.body.get("author")


def _proposed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.proposed = (mapping_of(said.body.get("intent")), said.body.get("intent_digest"))
    own.paths = mapping_of(said.body.get("paths"))


def _set_joined(seen: Earlier, said: VerifiedRecord) -> None:
    members = [mapping_of(one) for one in list_of(said.body.get("members"))]
    seen.joined[text_of(said.body.get("joint_id"))] = SeenSet(
        place=(said.seq, said.leaf.hex()),
        result=(said.body.get("digest"), said.body.get("n_paths")),
        members={
            text_of(one.get("instrument")): (
                one.get("forecast_id"),
                one.get("attempt"),
                one.get("paths"),
            )
            for one in members
        },
    )


def _given(seen: Earlier, said: VerifiedRecord) -> None:
    names = ("intent", "intent_digest", "policy_digest", "reservation", "result", "kill_epoch")
    kept = {name: said.body.get(name) for name in (*names, "send_before_us")}
    verdict = mapping_of(said.body.get("verdict"))
    kept["verdict_digest"] = verdict.get("verdict_digest")
    kept["held_by"] = held_by(verdict)
    seen.of(said).verdicts[said.seq] = (kept, said.leaf)


def held_by(verdict: Mapping[str, Any]) -> list[str]:
    """Return the rules that hold an order for a person, sorted."""
    rows = map(mapping_of, list_of(verdict.get("results")))
    return sorted({text_of(row.get("rule_id")) for row in rows if row.get("action") == "HOLD"})


def _agreed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.agreed, own.taken = mapping_of(said.body.get("band")), None


def _sending(seen: Earlier, said: VerifiedRecord) -> None:
    own, number = seen.of(said), said.body.get("approving_seq")
    kept, _ = own.verdicts.get(number if type(number) is int else -1, ({}, b""))
    intent, fields = mapping_of(kept.get("intent")), fields_of(said.body)
    name = text_of(said.body.get("cl_ord_id"))
    terms = {
        "qty_lots": intent.get("qty_lots"),
        "limit_ticks": intent.get("limit_ticks"),
        "quantity": fields.get(38, ""),
        "price": fields.get(44, ""),
    }
    own.order = SeenOrder(intent=intent, fields=fields, name=name, terms=terms)
    seen.named[name] = (said.decision, intent.get("side"))


def _replacing(seen: Earlier, said: VerifiedRecord) -> None:
    order = seen.of(said).order
    if order is not None:
        after = mapping_of(said.body.get("after"))
        name = order_name(said.leaf)
        order.asked[name] = {**after, "orig": said.body.get("orig_cl_ord_id")}
        seen.named[name] = (said.decision, order.intent.get("side"))


def _replaced(seen: Earlier, said: VerifiedRecord) -> None:
    order = seen.of(said).order
    if order is not None and said.body.get("outcome") == "replaced":
        order.name = text_of(said.body.get("cl_ord_id"))
        order.terms = mapping_of(said.body.get("terms"))


def _reported(seen: Earlier, said: VerifiedRecord) -> None:
    order, body = seen.of(said).order, said.body
    if order is None:
        return
    if body.get("restated") is not None:
        order.terms = mapping_of(body.get("restated"))
    lots = body.get("last_lots")
    order.filled += lots if type(lots) is int else 0
    undone = body.get("undoes_seq")
    fee = mapping_of(body.get("fill")).get("fee_minor")
    seen.fees[undone if type(undone) is int else said.seq] = fee


def _sealed(seen: Earlier, said: VerifiedRecord) -> None:
    own = seen.of(said)
    own.verdicts.clear()
    own.request, own.proposed, own.agreed, own.taken, own.paths = {}, None, None, None, None


def _inbound(seen: Earlier, said: VerifiedRecord) -> None:
    place = (said.head["stream"], text_of(said.body.get("offset")))
    seen.messages[place] = message_of(said.body)


def _read(seen: Earlier, said: VerifiedRecord) -> None:
    seen.reads[said.seq] = {name: said.body.get(name) for name in ("reader", "object")}


def _pressed(seen: Earlier, said: VerifiedRecord) -> None:
    seen.presses[text_of(said.body.get("kill_epoch"))] = said.body.get("press_id")


def _stopped(seen: Earlier, said: VerifiedRecord) -> None:
    seen.stops[text_of(said.body.get("stop_id"))] = said.body.get("stop")


def _resumed(seen: Earlier, said: VerifiedRecord) -> None:
    for one in list_of(said.body.get("stop_ids")):
        seen.stops.pop(text_of(one), None)


def _tested(seen: Earlier, said: VerifiedRecord) -> None:
    seen.tested[said.seq] = said.body


def _differed(seen: Earlier, said: VerifiedRecord) -> None:
    names = ("account", "cl_ord_id", "instrument", "reason")
    kept = {name: said.body.get(name) for name in names}
    seen.differences[said.seq] = {**kept, "leaf": said.leaf.hex()}


def _named(seen: Earlier, said: VerifiedRecord) -> None:
    seen.acts[said.seq] = [said.kind, said.leaf.hex(), said.body.get("ref")]


def _moded(seen: Earlier, said: VerifiedRecord) -> None:
    seen.modes.add(text_of(said.body.get("mode")))
    seen.mode_seq, seen.mode_limits = said.seq, said.body.get("limits", "")
    seen.mode = text_of(said.body.get("mode"))


_TAKEN = {
    "run_started": _run,
    "instrument_listed": _listing,
    "policy_activated": _policy,
    "intent_received": _asked,
    "forecast_taken": _forecast,
    "intent_proposed": _proposed,
    "paths_joined": _set_joined,
    "verdict_given": _given,
    "approval_given": _agreed,
    "order_sending": _sending,
    "replace_requested": _replacing,
    "replace_ended": _replaced,
    "order_reported": _reported,
    "decision_sealed": _sealed,
    "fix_inbound": _inbound,
    "read_recorded": _read,
    "kill_pressed": _pressed,
    "stop_begun": _stopped,
    "stop_ended": _resumed,
    "promotion_tested": _tested,
    "book_difference": _differed,
    "mode_entered": _moded,
    **{ends: _named for ends, *_ in SIGNED_KINDS.values() if ends},
}


def shown_side(fields: Mapping[Any, str]) -> str:
    """Return the side of an order's fields, or nothing."""
    return FIX_SIDES.get(text_of(fields.get(54)), "")


def differing(said: Mapping[str, Any], wanted: Mapping[str, Any], words: str) -> Iterator[str]:
    """Yield each field of a record that has another value than its reference."""
    for name, value in wanted.items():
        if not same(said.get(name), value):
            yield f"its {name} is not {words}"
