"""The section of a draft for each asset class: starting numbers and armings, with their reasons.

Every number is a starting value that the officers decide on. A reason says what holds for the
class and for the desk's table; a rule is armed as soon as the table has what it measures.

Not here: limits of one instrument, and of the account (`sections`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.installation.policies.traded import TradedInstrument, named
from risk.numbers.sections import Arming, ClassPolicy
from risk.numbers.stated import Stated
from risk.rules.catalogue import RULES
from risk.verdict import RuleId

STARTING: Final = "Starting value"
"""The first words of every reason that no officer has decided on yet."""
_UNARMED: Final = {rule.rule_id: rule.unarmed for rule in RULES}
_WIDTH_OF_VOLATILITY: Final = 655_350
"""Width of a 90 % interval of ten daily bars, in 1e-8, for 1 % of volatility a year: twice
1.645 standard deviations, times the square root of 10 of 252 days."""
ALWAYS_OPEN: Final = "24/7"
_DAILY: Final = (
    1_500,
    (
        "a share of ten daily bars, a day and a half: the market is open every day, so an older"
        " forecast has missed a bar"
    ),
    2,
    "two days: the market is open every day, and its events are completed daily",
)
_WEEKDAYS: Final = (
    4_000,
    (
        "a share of ten daily bars, four days: a forecast of a Friday is used after a long weekend,"
        " and an older one has missed a session"
    ),
    4,
    "four days: events are completed at each close, and a long weekend lies between two of them",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassStart:
    """What a draft says of an asset class.

    Attributes:
        about: its instruments, in words.
        collar_bp: how far a limit may be from the quote's middle.
        collar_why: why so far.
        volatility_pct: above this volatility a year a forecast backs no direction.
        no_sector: why R10 has nothing to measure without a sector.
        no_volume: why R15 has nothing to measure without an average daily volume.
        short: what must be arranged before one is sold short.
    """

    about: str
    collar_bp: int
    collar_why: str
    volatility_pct: int
    no_sector: str
    no_volume: str
    short: str


_UNSTATED_VOLUME: Final = "The share of a day's volume cannot be measured"
_LOCATE: Final = "nothing is located with a broker; `locate_lots` in the table says what is"
_NO_LOCATE: Final = "whoever raises it looks at R19 too, which asks for a locate"

STARTS: Final = {
    "equity": ClassStart(
        about="stocks",
        collar_bp=300,
        collar_why="3 % from the middle is inside the 5 % band in which US exchanges halt a liquid"
        " stock: a limit beyond it is a typing error or a broken quote",
        volatility_pct=50,
        no_sector="The share of a sector cannot be measured",
        no_volume=_UNSTATED_VOLUME,
        short=_LOCATE,
    ),
    "index": ClassStart(
        about="indices",
        collar_bp=300,
        collar_why="the touch of a broad index is a few basis points wide: a limit 3 % from the"
        " middle is a typing error or a broken quote",
        volatility_pct=30,
        no_sector="A broad index is no single name and belongs to no sector",
        no_volume="An index has no volume of its own; a future or fund on it has",
        short=_NO_LOCATE,
    ),
    "fx": ClassStart(
        about="currency pairs",
        collar_bp=100,
        collar_why="a major pair moves about half a percent in a day: a limit 1 % from the middle"
        " is a typing error or a broken quote",
        volatility_pct=15,
        no_sector="A currency pair has no issuer and belongs to no sector",
        no_volume="Currency pairs trade over the counter, where nobody counts a day's volume",
        short=_NO_LOCATE,
    ),
    "commodity": ClassStart(
        about="commodities",
        collar_bp=300,
        collar_why="a commodity moves one or two percent on most days: a limit 3 % from the middle"
        " is a typing error or a broken quote",
        volatility_pct=50,
        no_sector="A commodity has no issuer; groups such as energy are what would be measured",
        no_volume=_UNSTATED_VOLUME,
        short=_NO_LOCATE,
    ),
    "crypto": ClassStart(
        about="crypto assets",
        collar_bp=300,
        collar_why="the price may move a percent while an order is on its way; a limit 3 % from the"
        " middle is a typing error or a broken quote",
        volatility_pct=100,
        no_sector="A crypto asset has no issuer and belongs to no sector",
        no_volume="Each crypto venue counts its own volume, and the table names none",
        short=_NO_LOCATE,
    ),
    "rates": ClassStart(
        about="interest-rate instruments",
        collar_bp=100,
        collar_why="a bond or bond future moves less than 1 % on nearly every day: a limit further"
        " from the middle is a typing error or a broken quote",
        volatility_pct=15,
        no_sector="An interest-rate instrument belongs to no sector",
        no_volume=_UNSTATED_VOLUME,
        short=_NO_LOCATE,
    ),
    "volatility": ClassStart(
        about="volatility instruments",
        collar_bp=500,
        collar_why="a volatility future often moves 5 % in a day: a limit further from the middle"
        " is a typing error, a broken quote or a market to stay out of",
        volatility_pct=150,
        no_sector="A volatility instrument has no issuer and belongs to no sector",
        no_volume=_UNSTATED_VOLUME,
        short=_NO_LOCATE,
    ),
    "other": ClassStart(
        about="instruments of another kind",
        collar_bp=100,
        collar_why="nothing is known of this class, so its collar is the narrowest that a draft"
        " uses",
        volatility_pct=15,
        no_sector="The share of a sector cannot be measured",
        no_volume=_UNSTATED_VOLUME,
        short=_NO_LOCATE,
    ),
}
"""By asset class of the table. A test holds the names equal to those of a table."""


def class_section(
    model: ClassPolicy, asset_class: str, traded: Sequence[TradedInstrument]
) -> ClassPolicy:
    """Return the section of a class; `traded` is the whole table, `model` says which rules are."""
    start = STARTS[asset_class]
    own = [one for one in traded if one.asset_class == asset_class]
    changed: dict[str, object] = {
        name: restated(getattr(model, name), value, why)
        for name, value, why in _numbers(start, own)
    }
    arming = tuple(_arming(entry.rule, start, own, traded) for entry in model.arming)
    return model.model_copy(update={"asset_class": asset_class, "arming": arming, **changed})


def restated(number: Stated, value: int, why: str) -> Stated:
    """Return a number with another value and a reason that says that it is a starting one."""
    return number.model_copy(update={"value": value, "rationale": f"{STARTING}: {why}."})


def _numbers(
    start: ClassStart, own: Sequence[TradedInstrument]
) -> tuple[tuple[str, int, str], ...]:
    width = _WIDTH_OF_VOLATILITY * start.volatility_pct
    forecast_bp, forecast_why, narrative_days, narrative_why = (
        _DAILY if _always_open(own) else _WEEKDAYS
    )
    return (
        ("price_collar", start.collar_bp, start.collar_why),
        (
            "quote_age_max",
            2_000_000,
            (
                f"two seconds: {start.about} that are quoted less often are too thin for orders"
                " without a person, or their feed has stopped"
            ),
        ),
        (
            "clock_skew_max",
            60_000_000,
            (
                "one minute: quotes and executions are stamped by one clock, and a decision takes"
                " far less; a larger step back is a clock that was set"
            ),
        ),
        ("forecast_age_max", forecast_bp, forecast_why),
        ("narrative_age_max", narrative_days * 86_400_000_000, narrative_why),
        (
            "directional_p_up_min",
            5_500,
            (
                "a claim of direction needs at least 55 % by the model's own law; below that costs"
                " and model error outweigh it"
            ),
        ),
        (
            "paths_min",
            16,
            "with fewer paths the 5 % and 95 % quantiles are single extreme draws",
        ),
        (
            "interval_width_max",
            width,
            (
                f"a 90 % interval of ten daily bars wider than {width / 1_000_000:.0f} % is a"
                f" volatility above {start.volatility_pct} % a year, at which {start.about} back no"
                " direction"
            ),
        ),
    )


def _arming(
    rule: RuleId,
    start: ClassStart,
    own: Sequence[TradedInstrument],
    traded: Sequence[TradedInstrument],
) -> Arming:
    reason = _unarmed(rule, start, own, traded)
    return Arming(rule=rule, armed=not reason, reason=reason)


def _unarmed(
    rule: RuleId,
    start: ClassStart,
    own: Sequence[TradedInstrument],
    traded: Sequence[TradedInstrument],
) -> str:
    """Return why a rule is not armed, "" if it is: what it would refuse for want of a measure."""
    match rule:
        case RuleId.R10 if missing := named(own, "sector"):
            return (
                f"{start.no_sector}: the table gives no `sector` for {missing}. What limits one"
                " name are position_max and the sizing's exposure_max. Write a sector for each and"
                " arm it."
            )
        case RuleId.R15 if missing := named(own, "adv_lots"):
            return (
                f"{start.no_volume}: the table gives no `adv_lots` for {missing}. What limits an"
                " order are order_qty_max and order_notional_max. Write the average daily volume of"
                " each and arm it."
            )
        # the margin of the whole book is measured, so every instrument of the table needs a rate
        case RuleId.R23 if missing := named(traded, "margin_bp"):
            return (
                "The margin of the book cannot be measured: the table gives no `margin_bp` for"
                f" {missing}. What limits the book are gross_max and leverage_max, as of a cash"
                " account. Write the broker's margin of each instrument and arm it before anything"
                " is bought on margin."
            )
        case RuleId.R43 if _always_open(own):
            return "By the table's calendar the market is always open: nobody can mark its close."
        case RuleId.R43:
            return (
                "It measures the volume that is posted with quotes, and a draft does not see"
                f" whether the feed of these {start.about} says it: without it every intent would"
                " be refused. Arm it once quotes carry the day's volume."
            )
        case _:
            return _UNARMED[rule]


def _always_open(own: Sequence[TradedInstrument]) -> bool:
    return all(one.calendar == ALWAYS_OPEN for one in own)
