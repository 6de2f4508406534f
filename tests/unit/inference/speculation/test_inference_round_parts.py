"""Each way in which the parts of a round may not fit together is refused by itself."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from inference.errors import CaptureError
from inference.speculation.evidence import (
    Bracket,
    Evidence,
    Judge,
    RoundEvidence,
    _sum_fits,
    _whole,
)
from inference.speculation.rounds import (
    DrafterKind,
    DraftRound,
    PlainReason,
    QTable,
    RoundOutcome,
    row_bytes,
)
from inference.speculation.seeds import Purpose, token_draw

ROW, DIGEST = row_bytes((0.25, 0.75)), bytes(32)
RECOVERED = DraftRound(
    trajectory=0,
    step=3,
    drafts=(10, 11),
    q_states=(),
    q_rows=(ROW, ROW),
    p_rows=(ROW, ROW),
    draws=(0.5, 0.5),
    accepted=1,
    token=11,
    outcome=RoundOutcome.RECOVERED,
    plain_reason=None,
    truncated=0,
    logits_digest=DIGEST,
)
TABLED = replace(RECOVERED, q_states=(4, 5), q_rows=())
BONUS = replace(RECOVERED, accepted=2, p_rows=(ROW,) * 3, outcome=RoundOutcome.BONUS)
PLAIN = replace(
    RECOVERED,
    drafts=(),
    q_rows=(),
    p_rows=(ROW,),
    draws=(),
    accepted=0,
    outcome=RoundOutcome.PLAIN,
    plain_reason=PlainReason.FIRST_TOKEN,
)
ROUNDS: dict[str, tuple[DraftRound, dict[str, Any]]] = {
    "accepted below zero": (TABLED, {"accepted": -1, "p_rows": (), "draws": ()}),
    "accepted above the drafts": (TABLED, {"accepted": 3, "p_rows": (ROW,) * 4}),
    "a target row too few": (RECOVERED, {"p_rows": (ROW,)}),
    "a target row too many": (RECOVERED, {"p_rows": (ROW,) * 3}),
    "a draw too few": (RECOVERED, {"draws": (0.5,)}),
    "a draw too many": (PLAIN, {"draws": (0.5,)}),
    "two drafters": (RECOVERED, {"q_states": (4, 5)}),
    "a state too few": (TABLED, {"q_states": (4,)}),
    "a state too many": (TABLED, {"q_states": (4, 5, 6)}),
    "a draft row too few": (RECOVERED, {"q_rows": (ROW,)}),
    "a draft row too many": (RECOVERED, {"q_rows": (ROW,) * 3}),
    "no drafter": (RECOVERED, {"q_rows": ()}),
    "plain with drafts": (
        TABLED,
        {"outcome": RoundOutcome.PLAIN, "plain_reason": PlainReason.LAST_TOKEN},
    ),
    "no drafts and not plain": (PLAIN, {"outcome": RoundOutcome.BONUS, "plain_reason": None}),
    "plain without a reason": (PLAIN, {"plain_reason": None}),
    "a reason and not plain": (RECOVERED, {"plain_reason": PlainReason.LAST_TOKEN}),
    "bonus after a rejection": (RECOVERED, {"outcome": RoundOutcome.BONUS}),
    "recovered after none": (BONUS, {"outcome": RoundOutcome.RECOVERED}),
    "less than nothing dropped": (RECOVERED, {"truncated": -1}),
    "more dropped than emitted": (RECOVERED, {"truncated": 3}),
    "a step below zero": (RECOVERED, {"step": -1}),
    "a trajectory below zero": (RECOVERED, {"trajectory": -1}),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_with_one_thing_wrong_cannot_be_made(name: str) -> None:
    good, change = ROUNDS[name]
    with pytest.raises(CaptureError, match="does not fit together"):
        replace(good, **change)


@pytest.mark.parametrize(
    "change", [{"truncated": 0}, {"truncated": 2}, {"step": 0}, {"trajectory": 7}], ids=str
)
def test_what_lies_at_a_border_fits(change: dict[str, int]) -> None:
    assert replace(RECOVERED, **change).accepted == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("round_", "truncated", "emitted"),
    [
        (RECOVERED, 0, (10, 11)),
        (RECOVERED, 1, (10,)),
        (RECOVERED, 2, ()),
        (BONUS, 0, (10, 11, 11)),
        (PLAIN, 0, (11,)),
    ],
)
def test_a_round_emits_the_accepted_drafts_and_its_token(
    round_: DraftRound, truncated: int, emitted: tuple[int, ...]
) -> None:
    assert replace(round_, truncated=truncated).emitted == emitted


B = Bracket(before=0.25, total=1.0)
KEPT = RoundEvidence(
    trajectory=0,
    step=3,
    drafts=(10, 11),
    states=(),
    p=(0.5, 0.25),
    q=(0.5, 0.5),
    q_picks=(B, B),
    accepted=1,
    token=12,
    token_p=0.5,
    token_q=0.25,
    picked=B,
    no_rest=False,
    outcome=RoundOutcome.RECOVERED,
    plain_reason=None,
    truncated=0,
    entropies=(7, 8),
)
KEPT_TABLE = replace(KEPT, states=(1, 0), q=(), q_picks=(), token_q=None)
KEPT_BONUS = replace(
    KEPT, accepted=2, outcome=RoundOutcome.BONUS, token_q=None, entropies=(7, 8, 9), token=11
)
KEPT_PLAIN = replace(
    KEPT_TABLE,
    drafts=(),
    states=(),
    p=(),
    accepted=0,
    picked=None,
    outcome=RoundOutcome.PLAIN,
    plain_reason=PlainReason.FIRST_TOKEN,
    entropies=(7,),
)
KEPT_ROUNDS: dict[str, tuple[RoundEvidence, dict[str, Any]]] = {
    "accepted below zero": (KEPT_TABLE, {"accepted": -1, "p": (), "entropies": ()}),
    "accepted above the drafts": (
        replace(KEPT_BONUS, states=(1, 0), q=(), q_picks=()),
        {"accepted": 3, "entropies": (7, 8, 9, 10)},
    ),
    "a probability too few": (KEPT, {"p": (0.5,)}),
    "a draft probability too few": (KEPT, {"q": (0.5,), "q_picks": (B,)}),
    "a pick too few": (KEPT, {"q_picks": (B,)}),
    "a state too few": (KEPT_TABLE, {"states": (1,)}),
    "two drafters": (KEPT, {"states": (1, 0)}),
    "no drafter": (KEPT_BONUS, {"q": (), "q_picks": ()}),
    "plain with drafts": (
        KEPT_TABLE,
        {"outcome": RoundOutcome.PLAIN, "plain_reason": PlainReason.LAST_TOKEN},
    ),
    "no drafts and not plain": (
        replace(KEPT_PLAIN, picked=B),
        {"outcome": RoundOutcome.BONUS, "plain_reason": None},
    ),
    "plain without a reason": (KEPT_PLAIN, {"plain_reason": None}),
    "a reason and not plain": (KEPT, {"plain_reason": PlainReason.LAST_TOKEN}),
    "bonus after a rejection": (KEPT_TABLE, {"outcome": RoundOutcome.BONUS}),
    "recovered after none": (
        replace(KEPT_BONUS, states=(1, 0), q=(), q_picks=()),
        {"outcome": RoundOutcome.RECOVERED},
    ),
    "a recovered token without its draft probability": (KEPT, {"token_q": None}),
    "a draft probability of a bonus token": (KEPT_BONUS, {"token_q": 0.25}),
    "a draft probability of the table's token": (KEPT_TABLE, {"token_q": 0.25}),
    "a token that nothing picked": (KEPT, {"picked": None}),
    "no rest where nothing was recovered": (KEPT_BONUS, {"no_rest": True}),
    "an entropy too few": (KEPT, {"entropies": (7,)}),
    "less than nothing dropped": (KEPT, {"truncated": -1}),
    "more dropped than emitted": (KEPT, {"truncated": 3}),
    "a step below zero": (KEPT, {"step": -1}),
    "a trajectory below zero": (KEPT, {"trajectory": -1}),
}


@pytest.mark.parametrize("name", KEPT_ROUNDS)
def test_evidence_of_a_round_with_one_thing_wrong_cannot_be_made(name: str) -> None:
    good, change = KEPT_ROUNDS[name]
    with pytest.raises(CaptureError, match="does not fit together"):
        replace(good, **change)


NETWORK = Evidence(
    drafter=DrafterKind.NETWORK,
    spec_k=2,
    bin_start=10,
    n_bins=3,
    table_digest="",
    first_row=(0.5, 0.25, 0.25),
    first_entropy=9,
    seeds=(1, 2),
    row_digests=(DIGEST, DIGEST),
    rounds=(KEPT,),
)
TABLE = QTable(
    digest="t1", n_bins=3, rows=row_bytes((0.5, 0.25, 0.25)) + row_bytes((0.0, 0.5, 0.5))
)
OF_TABLE = replace(NETWORK, drafter=DrafterKind.TABLE, table_digest="t1", rounds=(KEPT_TABLE,))
CAPTURES: dict[str, tuple[Evidence, dict[str, Any]]] = {
    "an unknown trajectory": (NETWORK, {"rounds": (replace(KEPT, trajectory=2),)}),
    "a draft below the bins": (NETWORK, {"rounds": (replace(KEPT, drafts=(9, 11)),)}),
    "a draft above the bins": (NETWORK, {"rounds": (replace(KEPT, drafts=(10, 13)),)}),
    "a token below the bins": (NETWORK, {"rounds": (replace(KEPT, token=9),)}),
    "a token above the bins": (NETWORK, {"rounds": (replace(KEPT, token=13),)}),
    "states without a table": (NETWORK, {"rounds": (KEPT_TABLE,)}),
    "a network's numbers with a table": (OF_TABLE, {"rounds": (KEPT,)}),
    "more drafts than asked for": (NETWORK, {"spec_k": 1}),
    "a first row of another width": (NETWORK, {"first_row": (0.5, 0.5)}),
    "a digest too few": (NETWORK, {"row_digests": (DIGEST,)}),
    "a table that nobody used": (NETWORK, {"table_digest": "t1"}),
    "a table without a name": (OF_TABLE, {"table_digest": ""}),
    "a first row above one": (NETWORK, {"first_row": (1.5, 0.25, 0.25)}),
    "a first row below zero": (NETWORK, {"first_row": (-0.5, 0.25, 0.25)}),
    "a probability that is none": (NETWORK, {"rounds": (replace(KEPT, p=(0.5, nan)),)}),
    "a draft probability that is none": (NETWORK, {"rounds": (replace(KEPT, q=(0.5, inf)),)}),
    "a token's above one": (NETWORK, {"rounds": (replace(KEPT, token_p=1.5),)}),
    "a token's draft below zero": (NETWORK, {"rounds": (replace(KEPT, token_q=-0.5),)}),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_evidence_with_one_thing_wrong_cannot_be_put_together(name: str) -> None:
    good, change = CAPTURES[name]
    with pytest.raises(CaptureError):
        replace(good, **change)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_a_probability_may_be_nought_or_one(probability: float) -> None:
    kept = replace(KEPT, p=(probability, 0.25), token_p=probability)
    assert replace(NETWORK, rounds=(kept,)).tokens_of(0) == (10, 12)


@pytest.mark.parametrize(
    ("token", "place", "q"), [(10, 0, 0.5), (11, 1, 0.125), (12, 1, 0.25), (12, 0, None)]
)
def test_a_networks_probability_is_found_or_it_is_said_that_there_is_none(
    token: int, place: int, q: float | None
) -> None:
    kept = replace(KEPT, q=(0.5, 0.125))
    judge = Judge(replace(NETWORK, rounds=(kept,)))
    if q is not None:
        assert judge.q_of(kept, place, token) == q
        return
    with pytest.raises(CaptureError, match="keeps no such"):
        judge.q_of(kept, place, token)


def test_a_bonus_has_no_probability_of_the_draft_beside_its_own() -> None:
    kept = replace(KEPT_BONUS, token=12)
    with pytest.raises(CaptureError, match="keeps no such"):
        Judge(replace(NETWORK, rounds=(kept,))).q_of(kept, 1, 12)


def test_a_tables_probability_is_that_of_its_row() -> None:
    judge = Judge(OF_TABLE, TABLE)
    told = [judge.q_of(KEPT_TABLE, place, token) for place in (0, 1) for token in (10, 11, 12)]
    assert told == [0.0, 0.5, 0.5, 0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (None, "must be the recorded one"),
        (replace(TABLE, digest="t2"), "must be the recorded one"),
        (replace(TABLE, n_bins=2), "another number of bins"),
        (replace(TABLE, rows=TABLE.rows[:12]), "no state 1"),
    ],
)
def test_another_table_judges_nothing(table: QTable | None, problem: str) -> None:
    with pytest.raises(CaptureError, match=problem):
        Judge(OF_TABLE, table).q_of(KEPT_TABLE, 0, 10)


def test_a_judge_of_a_network_asks_no_table() -> None:
    assert Judge(NETWORK, TABLE).q_of(KEPT, 0, 10) == 0.5


@pytest.mark.parametrize(
    ("before", "total", "entry", "draw", "holds"),
    [
        (0.25, 1.0, 0.5, 0.25, True),
        (0.25, 1.0, 0.5, 0.2499, False),
        (0.25, 1.0, 0.5, 0.7499, True),
        (0.25, 1.0, 0.5, 0.75, False),
        (0.5, 1.0, 0.5, 1.0, True),
        (0.5, 1.0, 0.25, 1.0, False),
        (0.25, 1.0, 0.0, 0.25, False),
        (0.0, 2.0, 0.5, 0.25, False),
        (0.0, 2.0, 0.5, 0.2, True),
    ],
)
def test_a_bracket_holds_what_a_draw_picks(
    before: float, total: float, entry: float, draw: float, *, holds: bool
) -> None:
    assert Bracket(before=before, total=total).holds(entry, draw) is holds


@pytest.mark.parametrize(
    ("before", "total", "whole"),
    [
        (0.0, 1.0, True),
        (1.0, 1.0, True),
        (1.00005, 1.00005, True),
        (0.5, 1.0002, False),
        (0.5, 0.9998, False),
        (1.0, 0.99995, False),
    ],
)
def test_a_row_sums_to_one(before: float, total: float, *, whole: bool) -> None:
    assert _whole(Bracket(before=before, total=total)) is whole


@pytest.mark.parametrize(
    ("before", "entry", "total", "fits"),
    [
        (0.25, 0.25, 0.5, True),
        (0.25, 0.25, 0.49, False),
        (0.25, 0.5, 0.5, False),
        (0.0, 0.25, 1.00005, True),
        (0.0, 0.25, 1.0002, False),
    ],
)
def test_a_residual_is_no_more_than_a_row(
    before: float, entry: float, total: float, *, fits: bool
) -> None:
    assert _sum_fits(Bracket(before=before, total=total), entry) is fits


@pytest.mark.parametrize(
    ("share", "q", "total", "follows"),
    [
        (2.0, 1.0, 1.0, True),
        (0.5, 1.0, 1.0, False),
        (2.0, 0.0, 1.0, False),
        (2.0, 1.0, 1.5, False),
    ],
)
def test_a_token_from_the_targets_own_row_follows_if_its_draw_fell_there(
    share: float, q: float, total: float, *, follows: bool
) -> None:
    """`share`: what the token has of the row, in parts of the draw."""
    draw = token_draw(NETWORK.seeds[0], Purpose.RECOVER, KEPT.step, KEPT.accepted)
    kept = replace(
        KEPT,
        no_rest=True,
        token_p=min(1.0, share * draw),
        token_q=q,
        picked=Bracket(before=0.0, total=total),
    )
    faults = Judge(replace(NETWORK, rounds=(kept,))).faults(kept)
    assert ("token" not in faults) is follows
