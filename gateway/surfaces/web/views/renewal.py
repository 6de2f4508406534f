"""What an approver saw beside its renewal: priced and judged again after the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.tables import RuleRow, WordsView, rule_rows, words_view

ATTEMPTED = frozenset(
    {
        Kind.FORECAST_TAKEN,
        Kind.INTENT_PROPOSED,
        Kind.VERDICT_GIVEN,
    }
)
"""The record kinds that a renewal repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One line of the table: shown to the approver, agreed to, renewed."""

    what: str
    shown: str
    agreed: str
    renewed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalSteps:
    """The payloads of a decision or of its renewal; empty where a step did not happen."""

    prompt: Body
    made: Body
    placebo: Body
    taken: Body
    proposed: Body
    verdict: Body
    currency: str
    tick: int

    @property
    def words(self) -> WordsView | None:
        """What words did to it."""
        return words_view(self.proposed.child("words"))

    @property
    def rules(self) -> tuple[RuleRow, ...]:
        """Every check of the verdict."""
        return rule_rows(self.verdict.child("verdict"), self.currency, self.tick)


def split(records: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Return a decision's records without its renewal, and the renewal's records."""
    given = next((r.seq for r in records if r.kind is Kind.APPROVAL_GIVEN), None)
    if given is None:
        return tuple(records), ()
    renewed = tuple(r for r in records if r.seq > given and r.kind in ATTEMPTED)
    return tuple(r for r in records if r not in renewed), renewed


def steps_of(records: Sequence[Record], currency: str, tick: int) -> RenewalSteps:
    """Return the steps of a decision or a renewal, from its records and its forecast's."""
    by_kind = {record.kind: Body(record.body) for record in records}

    def of(kind: Kind) -> Body:
        return by_kind.get(kind, Body(None))

    return RenewalSteps(
        prompt=of(Kind.FORECAST_REQUESTED),
        made=of(Kind.FORECAST_MADE),
        placebo=of(Kind.PLACEBO_MADE),
        taken=of(Kind.FORECAST_TAKEN),
        proposed=of(Kind.INTENT_PROPOSED),
        verdict=of(Kind.VERDICT_GIVEN),
        currency=currency,
        tick=tick,
    )


def compared(shown: RenewalSteps, renewed: RenewalSteps, band: Body) -> tuple[Compared, ...]:
    """Return the comparison; `band` is what the approver agreed to."""

    def result(steps: RenewalSteps) -> str:
        none = formats.DASH if steps is shown else steps.taken.text("missing") or "no trade"
        return steps.verdict.text("result") or none

    rows: tuple[tuple[str, Callable[[RenewalSteps], str], str], ...] = (
        ("Side", lambda s: _intent(s, "side"), band.text("side")),
        (
            "Quantity, lots",
            lambda s: formats.whole(_number(s, "qty_lots")),
            f"at most {formats.whole(band.whole('qty_max_lots'))}",
        ),
        (
            f"Limit, {shown.currency}",
            lambda s: formats.price(_number(s, "limit_ticks"), s.tick, s.currency),
            " to ".join(
                formats.price(band.whole(f"price_{end}_ticks"), shown.tick, shown.currency)
                for end in ("low", "high")
            ),
        ),
        (
            "Target exposure",
            lambda s: formats.bp(_number(s, "target_exposure_bp")),
            " to ".join(formats.bp(band.whole(f"exposure_{end}_bp")) for end in ("low", "high")),
        ),
        (
            "Volatility of the horizon",
            lambda s: formats.volatility(_forecast(s, "horizon_vol_1e8")),
            "",
        ),
        (
            "Expected log return",
            lambda s: formats.log_return(_forecast(s, "expected_1e8")),
            "",
        ),
        ("Verdict", lambda s: s.verdict.child("verdict").text("action") or formats.DASH, ""),
        ("Result", result, ""),
        ("Seed: tree size", lambda s: formats.whole(s.prompt.whole("seed_size")), ""),
    )
    return tuple(
        Compared(what=what, shown=read(shown), agreed=agreed, renewed=read(renewed))
        for what, read, agreed in rows
    )


def _intent(steps: RenewalSteps, name: str) -> str:
    return steps.proposed.child("intent").text(name) or formats.DASH


def _number(steps: RenewalSteps, name: str) -> int | None:
    return steps.proposed.child("intent").whole(name)


def _forecast(steps: RenewalSteps, name: str) -> int | None:
    return steps.made.child("forecast").whole(name)
