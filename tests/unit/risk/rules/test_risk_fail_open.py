"""No planted fault of an input under format 2 ends in an approval: REJECT, HOLD or worse."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.numbers.lexicon import FairnessLexicon, LexiconWord
from risk.state.inputs.activity import OwnFill, Withdrawn
from risk.state.inputs.fairness import FairnessLook, Justified, SwapShift
from risk.state.inputs.firm import OwnOrder
from risk.verdict import Action, is_intact
from tests.doubles.full_policy import FULL, INPUTS, full_state
from tests.doubles.risk_cases import INTENT, NOW_US, bought, fold

HOUR_US = 3_600_000_000
ROW = 1
"""The place of the intent's instrument in the reference table."""
Path = tuple[str | int, ...]

FILL = OwnFill(decision_id="d-7", side="BUY", lots=1, price_ticks=26_900, time_us=NOW_US - 1)
SHOWN = OwnOrder(
    account="run-2",
    decision_id="d-8",
    instrument="SPXN",
    side="BUY",
    open_lots=1,
    limit_ticks=26_000,
)
REST = Withdrawn(decision_id="d-9", side="BUY", lots=1, rest_us=9, time_us=NOW_US - 1)
LIVELY = replace(
    INPUTS,
    activity=replace(INPUTS.activity, own_fills=(FILL,), withdrawn=(REST,)),  # type: ignore[type-var]
    firm=replace(INPUTS.firm, orders=(SHOWN,), fills=(FILL,)),  # type: ignore[type-var]
    fairness=FairnessLook(
        basis_seq=1,
        words=("turkey",),
        masked=0,
        swaps=(SwapShift(attribute="region", shift_bp=5),),
        justified=(
            Justified(
                ref="region-1",
                seq=1,
                attribute="region",
                asset_class="index",
                side="",
                horizon_us_max=100 * 24 * HOUR_US,
                bound_bp=5,
            ),
        ),
    ),
)
"""Every list has an entry, and INTENT still passes every rule."""
LISTED = LexiconWord(
    name="turkey",
    attribute="region",
    sort="region",
    owner="compliance",
    why="criteria",
    review_by="2027-05-21",
)
POLICY = FULL.model_copy(
    update={
        "families": FULL.families.model_copy(  # type: ignore[union-attr]
            update={"fairness": FairnessLexicon(words=(LISTED,))}
        )
    }
)

WRONG: dict[str, Any] = {
    "missing": None,
    "not a number": float("nan"),
    "a fraction": 0.5,
    "true": True,
    "text for a number": "seven",
    "oversized": 2**200,
}
MAY_BE_ABSENT = {"borrow_bp", "locate_lots", "due_us"}
"""An order that sells nothing short needs neither; without `due_us` bars age from their close."""


def planted(value: Any, path: Path, fault: Any) -> Any:  # noqa: ANN401 - any type
    """Return the same value with something else at one place."""
    if not path:
        return fault
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return (*value[:first], planted(value[first], rest, fault), *value[first + 1 :])
    return replace(value, **{first: planted(getattr(value, first), rest, fault)})


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - any type
    """Yield the place of every number of an input; of a long list the first, middle and last.

    Of the table only the intent's own row.
    """
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, tuple):
        ends = sorted({0, len(value) // 2, len(value) - 1} & {*range(len(value))})
        places = (ROW,) if path[-1:] == ("listed",) else ends
        for place in places:
            yield from leaves(value[place], (*path, place))
    elif value is None or type(value) is int:
        yield path


SPOILED = {
    f"{'.'.join(map(str, path))} {what}": (path, fault)
    for path in leaves(LIVELY)
    for what, fault in WRONG.items()
    if not (fault is None and path[-1] in MAY_BE_ABSENT)
}

SAID: dict[str, tuple[Path, Any]] = {
    **{f"{field.name} absent": ((field.name,), None) for field in fields(LIVELY)},
    **{f"{field.name} of another type": ((field.name,), "none") for field in fields(LIVELY)},
    "table too old": (("reference", "as_of_us"), NOW_US - 800 * HOUR_US),
    "table of the future": (("reference", "as_of_us"), NOW_US + 1),
    "table without the instrument": (("reference", "listed"), ()),
    "volume zero": (("reference", "listed", ROW, "adv_lots"), 0),
    "volume negative": (("reference", "listed", ROW, "adv_lots"), -1),
    "margin negative": (("reference", "listed", ROW, "margin_bp"), -1),
    "sector unknown": (("reference", "listed", ROW, "sector"), ""),
    "bars too old": (("market", "as_of_us"), NOW_US - 121 * HOUR_US),
    "bars of the future": (("market", "as_of_us"), NOW_US + 1),
    "no bars": (("market", "closes_ticks"), ()),
    "close zero": (("market", "closes_ticks", 3), 0),
    "close negative": (("market", "closes_ticks", 3), -5),
    "last close far away": (("market", "closes_ticks", 21), 20_000),
    "look at the machine too old": (("health", "age_us"), 5_000_001),
    "look of the future": (("health", "age_us"), -1),
    "disk full": (("health", "disk_free_bp"), 0),
    "disk negative": (("health", "disk_free_bp"), -1),
    "disk more than empty": (("health", "disk_free_bp"), 10_001),
    "clock ahead": (("health", "clock_step_us"), 500_001),
    "clock back": (("health", "clock_step_us"), -500_001),
    "an open difference": (("reconciliation", "open_seqs"), (4,)),
    "differences as a list": (("reconciliation", "open_seqs"), []),
    "order of no lots": (("firm", "orders", 0, "open_lots"), 0),
    "messages negative": (("activity", "messages_second"), -1),
    "messages of a day negative": (("activity", "messages_day"), -1),
    "executions negative": (("activity", "fills_window"), -1),
    "lots of a day negative": (("activity", "day_lots"), -1),
    "orders of a day negative": (("activity", "orders_day"), -1),
    "brief orders negative": (("activity", "brief_day"), -1),
    "own messages negative": (("activity", "own_messages_second"), -1),
    "a burst size missing": (("activity", "bursts_day"), (0,) * 5),
    "a burst size more": (("activity", "bursts_day"), (0,) * 7),
    "bursts negative": (("activity", "bursts_day"), (-1,) * 6),
    "more executions than remembered": (("activity", "own_fills"), (FILL,) * 100),
    "more withdrawn than remembered": (("activity", "withdrawn"), (REST,) * 100),
    "more matches than remembered": (("firm", "fills"), (FILL,) * 100),
    "execution on no side": (("activity", "own_fills", 0, "side"), "LEFT"),
    "execution without quantity": (("activity", "own_fills", 0, "lots"), 0),
    "execution at no price": (("firm", "fills", 0, "price_ticks"), 0),
    "order on no side": (("firm", "orders", 0, "side"), ""),
    "order at no price": (("firm", "orders", 0, "limit_ticks"), 0),
    "basket negative": (("basket", "others_minor"), -1),
    "no instrument's bars": (("stress", "instruments"), ()),
    "every instrument's bars of the future": (("stress", "instruments", 0, "as_of_us"), NOW_US + 1),
    "a close of the market zero": (("stress", "instruments", 1, "closes_ticks", 2), 0),
    "scores of another model": (("scores", "model_digest"), "another"),
    "scores negative": (("scores", "scored"), -1),
    "evidence negative": (("scores", "evidence_milli"), -1),
    "evidence of drift": (("scores", "evidence_milli"), 100_001),
    "session over": (("session", "to_close_us"), -1),
    "session not begun": (("session", "since_open_us"), -1),
    "own volume negative": (("session", "own_lots"), -1),
    "volume of the market negative": (("session", "market_lots"), -1),
    "quoted longer than there was trading": (("quoting", "continuous_us"), 1),
    "quoted negative": (("quoting", "two_way_us"), -1),
    "more pairs agree than there are": (("crowd", "agreeing"), 4),
    "a model's value negative": (("crowd", "models", 0, "gross_minor"), -1),
    "every model is this one": (("crowd", "models", 0, "model_digest"), "d0"),
    "own words of the future": (("publications", "acts", 0, "time_us"), NOW_US + 1),
    "a justification's bound too small": (("fairness", "justified", 0, "bound_bp"), 4),
    "a word that no lexicon lists": (("fairness", "words"), ("other",)),
    "a masked word": (("fairness", "masked"), 1),
    "rest before it was sent": (("activity", "withdrawn", 0, "rest_us"), -1),
}


def judged(path: Path, fault: Any) -> Any:  # noqa: ANN401 - any type
    return evaluate(POLICY, full_state(POLICY, inputs=planted(LIVELY, path, fault)), INTENT)


def test_without_a_fault_it_is_approved() -> None:
    verdict = evaluate(POLICY, full_state(POLICY, inputs=LIVELY), INTENT)
    assert verdict.action is Action.ALLOW, verdict.worst
    assert len(SPOILED) > 60
    assert len(SAID) > 40


@pytest.mark.parametrize("name", SPOILED)
def test_a_number_that_is_none_is_never_approved(name: str) -> None:
    verdict = judged(*SPOILED[name])
    assert verdict.action >= Action.HOLD
    assert is_intact(verdict)


@pytest.mark.parametrize("name", SAID)
def test_what_is_absent_old_or_contradictory_is_never_approved(name: str) -> None:
    verdict = judged(*SAID[name])
    assert verdict.action >= Action.HOLD
    assert is_intact(verdict)


def test_a_position_that_the_table_does_not_list_is_never_added_to() -> None:
    book = fold(bought(1, 100, instrument="GONE"))
    assert evaluate(FULL, full_state(book=book), INTENT).action >= Action.REJECT
