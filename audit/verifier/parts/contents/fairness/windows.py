"""Recorded runs of the tests of fairness, against the records that they speak of.

A run names its days, a size of the log, the log's root there and its rows. This part gathers
the cases from the verified records below that size, demands that they need exactly that size,
takes the seed of the permutation tests from the tree's own root, and computes every row again.

Not here: the tests (`statistics`). Rows about prompts (F2) are not computed again.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from audit.verifier.parts.contents.fairness.statistics import Part, allotted_row, rows_of
from audit.verifier.parts.contents.fairness.tables import JudgedCase, Row
from audit.verifier.parts.contents.fairness.together import Announced, together_row
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Report
from audit.verifier.parts.tree import Tree

_REFUSING = frozenset({"THROTTLE", "HOLD", "REJECT", "HALT", "KILL"})
_LISTED = ("region", "sector", "mic", "currency", "asset_class")
_NO_LEVEL, _PROMPTS = "W1-W7", "F2"
_TESTS = "W1-W9"
"""The tests of a run; one of before names fewer, or none."""
_DEALS_MAX = 100_000
"""Most that a gateway puts on record."""
_RETURN_UNIT = 100_000_000

Told = tuple[int, str, str, int, Mapping[str, Any]]
"""A record: number, kind, stream, recorded at (microseconds), and what is kept of its payload."""


@dataclass(slots=True, kw_only=True)
class WindowDecision:
    """One decision of a window as far as records tell."""

    body: Mapping[str, Any]
    day: str
    listed: Mapping[str, str]
    seq: int
    forecast: Mapping[str, Any] | None
    forecast_seq: int | None
    filled: bool = False
    base: int = 0
    closes: dict[int, int] = field(default_factory=dict)
    trades: dict[int, tuple[int, int]] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    split_seq: int = 0
    close: int = 0
    sent_us: int = 0
    sent_seq: int = 0

    @property
    def is_split(self) -> bool:
        """Whether clients have parts of what traded, and its worth at a close is known."""
        return bool(self.parts and self.close and any(lots for lots, _ in self.trades.values()))

    @property
    def last_seq(self) -> int:
        """The last record that it rests on."""
        return max(self.seq, self.split_seq if self.is_split else 0, self.sent_seq)

    @property
    def horizon(self) -> int:
        """After how many closes its forecast can be judged."""
        return 0 if self.forecast is None else int(self.forecast["horizon"])


@dataclass(slots=True)
class Windows:
    """The runs of a whole log; give it every record with `see`, then call `finish`."""

    _told: list[Told] = field(default_factory=list)
    _leaves: bytearray = field(default_factory=bytearray)
    _runs: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)

    def leaf(self, leaf: bytes) -> None:
        """Take the leaf of the next record."""
        self._leaves += leaf

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        kind = head["kind"]
        if kind == "fairness_tested":
            self._runs.append((head["seq"], body))
        elif kind in _KEPT:
            kept: dict[str, Any] = {name: body[name] for name in _KEPT[kind] if name in body}
            if kind == "verdict_given":
                kept["hit"] = _refused_by(body.get("verdict"))
            self._told.append((head["seq"], kind, head["stream"], head["recorded_at_us"], kept))

    def finish(self, report: Report, *, whole: bool) -> None:
        """Judge every run; without the whole log nothing can be gathered."""
        if self._runs and not whole:
            report.find(INCOMPLETE, "records are missing: the tests of fairness cannot be repeated")
            return
        sound = 0
        for seq, run in self._runs:
            try:
                sound += self._judge(report, seq, run)
            except (ArithmeticError, KeyError, TypeError, ValueError) as error:
                text = f"the run, or a record of its days, has another form: {error!r}"
                report.find(TAMPERED, text, seq)
        if self._runs:
            report.say(
                f"{sound} of {len(self._runs)} runs of the tests of fairness: every row of a window"
                " follows from the records, and the seed from the log's root"
            )

    def _judge(self, report: Report, seq: int, run: Mapping[str, Any]) -> bool:
        """Report what of a run does not follow from the records; return whether all does."""
        size, deals = int(run["size"]), int(run["deals"])
        if not 0 < deals <= _DEALS_MAX:  # more would keep a reader waiting for days
            report.find(TAMPERED, f"a run of {deals} deals: 1 to {_DEALS_MAX} are possible", seq)
            return False
        tests = run.get("tests", "")
        if tests != _TESTS:
            text = f"a run of other tests than this verifier makes: {tests or 'W1-W7'}"
            report.find(INCOMPLETE, text, seq)
            return False
        below = [one for one in self._told if one[0] < size] if size <= seq else []
        found = cases_of(below, str(run["first_day"]), str(run["last_day"]))
        needed = max((one.last_seq + 1 for one in found.values()), default=0)
        if size != needed or len(found) != run["cases"]:
            text = f"a run over {run['cases']} cases below {size}; the records have {len(found)}"
            report.find(TAMPERED, f"{text}, below {needed}", seq)
            return False
        root = self._root(size)
        if root.hex() != run["root"]:
            report.find(
                TAMPERED, f"its root is not the log's at {size}, so neither is its seed", seq
            )
            return False
        cases = [judged_case(name.partition("/")[2], one) for name, one in found.items()]
        rows = rows_of(cases, root, run["criteria"]["attributes"], deals)
        parts = [part for name, one in found.items() for part in parts_of(name, one)]
        rows.append(allotted_row(parts, root, deals))
        rows.append(together_row([*announced(found.values())], root, deals))
        differing = [*_differing(run["results"], rows, cases, run["criteria"]["attributes"])]
        for text in differing:
            report.find(TAMPERED, text, seq)
        return not differing

    def _root(self, size: int) -> bytes:
        tree = Tree()
        for at in range(0, 32 * size, 32):
            tree.append(bytes(self._leaves[at : at + 32]))
        return tree.root()


_KEPT: Mapping[str, tuple[str, ...]] = {
    "run_started": ("instruments",),
    "instrument_listed": ("instrument", "reference"),
    "mark_taken": (
        *("account", "instrument", "price_ticks", "market_time_us", "kind"),
        "session_date",
    ),
    "forecast_made": ("forecast",),
    "forecast_taken": ("of_seq",),
    "verdict_given": ("account", "intent", "result"),
    "order_sending": ("market_now_us",),
    "order_reported": ("fill", "undoes_seq"),
    "order_allocated": ("decision_id", "parts"),
}


@dataclass(slots=True)
class _Gathered:
    """The decisions of some days, folded from records in order."""

    first: str
    last: str
    found: dict[str, WindowDecision] = field(default_factory=dict)
    _listed: dict[str, dict[str, str]] = field(default_factory=dict)
    _days: dict[str, str] = field(default_factory=dict)
    _forecasts: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    _closes: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _waiting: dict[tuple[str, str], list[WindowDecision]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _trading: dict[tuple[str, str], list[WindowDecision]] = field(default_factory=dict)

    def take(self, told: Told) -> None:
        """Take the next record."""
        seq, kind, stream, at_us, body = told
        match kind:
            case "run_started":
                for one in body["instruments"]:
                    self._list(one, {})
            case "instrument_listed":
                self._list(body["instrument"], body.get("reference", {}))
            case "mark_taken":
                self._mark(seq, body)
            case "forecast_made" | "forecast_taken":
                self._forecast(seq, kind, stream, body)
            case "verdict_given" if stream not in self._seen:
                self._seen.add(stream)
                self._first_verdict(seq, stream, at_us, body)
            case "order_sending" | "order_reported" if stream in self.found:
                self._ordered(seq, kind, self.found[stream], body)
            case "order_allocated":
                own = self.found.get(f"decision/{body['decision_id']}")
                if own is not None:
                    own.parts, own.split_seq = body["parts"], max(own.split_seq, seq)
            case _:
                pass

    def _forecast(self, seq: int, kind: str, stream: str, body: Mapping[str, Any]) -> None:
        """Keep a forecast by its number, and which one a decision names."""
        if kind == "forecast_made":
            self._forecasts[seq] = body["forecast"]
        elif body.get("of_seq") is not None:
            self._taken[stream] = body["of_seq"]

    def _ordered(self, seq: int, kind: str, own: WindowDecision, body: Mapping[str, Any]) -> None:
        if kind == "order_sending":
            own.sent_us, own.sent_seq = int(body["market_now_us"]), seq
            return
        fill, undoes = body.get("fill"), body.get("undoes_seq")
        if fill is not None and undoes is None:
            own.filled, own.seq = True, max(own.seq, seq)
        if fill is None and undoes is None:
            return
        traded = (0, 0) if fill is None else (int(fill["qty_lots"]), int(fill["price_ticks"]))
        own.trades[seq if undoes is None else undoes] = traded
        own.close, own.split_seq = 0, max(own.split_seq, seq)
        place = (own.body["account"], own.body["intent"]["instrument"])
        self._trading.setdefault(place, []).append(own)

    def _list(self, instrument: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
        said = {**instrument, **reference}
        known = self._listed.setdefault(str(instrument["symbol"]), {})
        known.update({name: str(said[name]) for name in _LISTED if said.get(name)})

    def _mark(self, seq: int, mark: Mapping[str, Any]) -> None:
        if mark["kind"] == "open":
            self._days[mark["account"]] = self._days[""] = mark.get("session_date", "")
        if mark["kind"] != "close":
            return
        place = (mark["account"], mark["instrument"])
        self._closes[place] = (mark["market_time_us"], int(mark["price_ticks"]))
        for one in self._trading.pop(place, ()):
            one.close, one.split_seq = int(mark["price_ticks"]), max(one.split_seq, seq)
        still = []
        for one in self._waiting.pop(place, ()):
            if one.forecast is not None and mark["market_time_us"] > one.forecast["as_of_us"]:
                one.closes[mark["market_time_us"]] = int(mark["price_ticks"])
            if len(one.closes) < one.horizon:
                still.append(one)
            else:
                one.seq = max(one.seq, seq)
        self._waiting[place] = still

    def _first_verdict(self, seq: int, stream: str, at_us: int, body: Mapping[str, Any]) -> None:
        account, instrument = body["account"], body["intent"]["instrument"]
        day = self._days.get(account) or self._days.get("") or _utc_day(at_us)
        if not self.first <= day <= self.last:
            return
        named = self._taken.get(stream, -1)
        said = self._forecasts.get(named)
        listed = dict(self._listed.get(instrument, {}))
        own = WindowDecision(
            body=body,
            day=day,
            listed=listed,
            seq=seq,
            forecast=said,
            forecast_seq=None if said is None else named,
        )
        close = self._closes.get((account, instrument), (0, 0))
        if said is not None and 0 < close[0] <= int(said["as_of_us"]):
            own.base = close[1]
            self._waiting.setdefault((account, instrument), []).append(own)
        self.found[stream] = own


def _refused_by(verdict: object) -> frozenset[str]:
    """Return the rules that held or refused in a verdict."""
    results = verdict.get("results") if isinstance(verdict, dict) else None
    rows = results if isinstance(results, list) else []
    return frozenset(
        str(row.get("rule_id"))
        for row in rows
        if isinstance(row, dict) and row.get("action") in _REFUSING
    )


def cases_of(told: Sequence[Told], first: str, last: str) -> dict[str, WindowDecision]:
    """Return the decisions of the days from `first` to `last` by stream, from records in order."""
    gathered = _Gathered(first, last)
    for one in told:
        gathered.take(one)
    return gathered.found


def parts_of(stream: str, found: WindowDecision) -> list[Part]:
    """Return what each client got of an order, and its worth at the close in bp, rounded down."""
    if not found.is_split:
        return []
    lots = sum(one for one, _ in found.trades.values())
    paid = sum(one * price for one, price in found.trades.values())
    intent, gained = found.body["intent"], found.close * lots - paid
    worth = (gained if intent["side"] == "BUY" else -gained) * 10_000 // paid
    name, stratum = stream.partition("/")[2], f"{intent['instrument']} {found.day}"
    return [
        (stratum, f"{name} {client}", client, worth)
        for client, part in sorted(found.parts.items())
        if part > 0
    ]


def announced(found: Iterable[WindowDecision]) -> Iterator[Announced]:
    """Yield agent, instrument's day, side and time of each order that was announced."""
    for one in found:
        if one.sent_seq:
            intent = one.body["intent"]
            day = f"{intent['instrument']} {one.day}"
            yield intent["author"], day, intent["side"], one.sent_us


def judged_case(name: str, found: WindowDecision) -> JudgedCase:
    """Return a decision with what the tests compare."""
    intent, listed, said = found.body["intent"], found.listed, found.forecast
    error, covered = _outcome_of(found)
    return JudgedCase(
        name=name,
        day=found.day,
        asset_class=listed.get("asset_class", ""),
        levels={
            "region": listed.get("region", ""),
            "sector": listed.get("sector", ""),
            "side": intent["side"],
            "agent": intent["author"],
        },
        features={
            "asset class": listed.get("asset_class", ""),
            "currency": listed.get("currency", ""),
            "venue": listed.get("mic", ""),
            "strategy": intent["strategy"],
        },
        result=found.body["result"],
        rules=found.body["hit"],
        exposure=int(intent["target_exposure_bp"]),
        filled=found.filled,
        expected=None if said is None else int(said["expected_1e8"]),
        error=error,
        covered=covered,
        forecast=found.forecast_seq,
    )


def _outcome_of(found: WindowDecision) -> tuple[int | None, bool]:
    """Return how far off a forecast was at its horizon, and whether its interval held."""
    said = found.forecast
    if said is None or not found.base or len(found.closes) < found.horizon:
        return None, False
    close = found.closes[max(found.closes)]
    log_return = (Decimal(close) / Decimal(found.base)).ln()
    happened = int((log_return * _RETURN_UNIT).to_integral_value())
    inside = int(said["interval_low_1e8"]) <= happened <= int(said["interval_high_1e8"])
    return abs(happened - int(said["expected_1e8"])), inside


def _differing(
    recorded: Sequence[Row],
    rows: Sequence[Row],
    cases: Sequence[JudgedCase],
    attributes: Sequence[str],
) -> Iterator[str]:
    """Yield what of the recorded rows is not what the records give."""
    told = [row for row in recorded if row.get("test") not in {_NO_LEVEL, _PROMPTS}]
    for number, (said, row) in enumerate(zip(told, rows, strict=False)):
        if dict(said) != row:
            where = " ".join(str(row.get(key, "")) for key in ("test", "attribute", "group"))
            names = [key for key in {**said, **row} if said.get(key) != row.get(key)]
            yield f"row {number + 1} ({where.strip()}) differs in {', '.join(sorted(names))}"
    if len(told) != len(rows):
        yield f"it has {len(told)} rows about windows, the records give {len(rows)}"
    levelless = {name for name in attributes if not any(c.levels.get(name) for c in cases)}
    if {row.get("attribute") for row in recorded if row.get("test") == _NO_LEVEL} != levelless:
        yield "it says of other attributes than the records that nothing is known of them"


def _utc_day(time_us: int) -> str:
    return dt.datetime.fromtimestamp(time_us // 1_000_000, dt.UTC).date().isoformat()
