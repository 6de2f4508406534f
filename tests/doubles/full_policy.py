"""A policy of format 2 with every rule armed, and a state that passes every one of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import risk
from risk.policy.policy import Policy, parse_policy, policy_from_document
from risk.state.inputs.activity import Activity, OwnAct, Publications, Quoting
from risk.state.inputs.firm import Basket, Crowd, Firm, ModelGross
from risk.state.inputs.health import MachineLook
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.market import LastBars, MarketStress, SeenBars, SessionClock
from risk.state.inputs.model import ForecastScores
from risk.state.inputs.reconciliation import OpenDifferences
from risk.state.inputs.reference import Listed, Reference
from risk.state.paths.joint import BookPaths, InstrumentPaths
from risk.state.state import RiskState
from tests.doubles.risk_cases import FORECAST, HOUR_US, INTENT, NOW_US, state_with

DESK_BYTES = (Path(risk.__file__).parent / "policy" / "policies" / "desk.json").read_bytes()
DESK = parse_policy(DESK_BYTES)


UNGATHERED = ("R30", "R43", "R46")
"""Rules whose inputs no source of a desk in memory delivers."""


def full_policy(**numbers: int) -> Policy:
    """The desk's policy with every rule armed; dots of a path are written as two underscores."""
    return armed_without((), **numbers)


def gathered_policy(**numbers: int) -> Policy:
    """The same without the rules whose inputs a desk in memory has no source for."""
    return armed_without(UNGATHERED, **numbers)


def armed_without(without: tuple[str, ...], **numbers: int) -> Policy:
    """The same without some rules."""
    document: Any = json.loads(DESK_BYTES)
    permits = document["families"]["authority"]["permits"]
    permits.append(permits[0] | {"name": INTENT.strategy})
    bound = {"name": INTENT.instrument, "owner": "desk", "why": "quotes", "review_by": "2027-05-21"}
    document["families"]["authority"]["mandates"].append(bound)
    for section in document["classes"]:
        for entry in section["arming"]:
            off = entry["rule"] in without
            entry.update(armed=not off, reason="no source" if off else "")
    document["families"]["horizon"]["joint_paths_min"]["value"] = 80
    for path, value in numbers.items():
        place = document
        for part in path.split("__"):
            place = place[int(part)] if part.isdigit() else place[part]
        place["value"] = value
    return policy_from_document(document)


FULL = full_policy()


def calm_moves(
    paths: int = 128, steps: int = 10, tick: int = 20_000
) -> tuple[tuple[int, ...], ...]:
    """Straight paths that end evenly between -64 and +63 times `steps` ticks of 1e-8."""
    return tuple(
        tuple((path - paths // 2) * tick * step for step in range(1, steps + 1))
        for path in range(paths)
    )


def book_paths(**moves: tuple[tuple[int, ...], ...]) -> BookPaths:
    """Joint paths of daily bars, by symbol."""
    return BookPaths(
        as_of_us=NOW_US - HOUR_US,
        bar_us=24 * HOUR_US,
        rule_digest="",
        instruments=tuple(InstrumentPaths(symbol=one, moves_1e8=moves[one]) for one in moves),
    )


PATHS = book_paths(SPXN=calm_moves(), NDXN=calm_moves())
INPUTS = Inputs(
    reference=Reference(
        as_of_us=NOW_US - 24 * HOUR_US,
        table_digest="a0" * 32,
        listed=(
            Listed(
                symbol="NDXN",
                sector="broad",
                region="us",
                issuer="NDX",
                adv_lots=1_000_000,
                margin_bp=2_500,
            ),
            Listed(
                symbol="SPXN",
                sector="broad",
                region="us",
                issuer="SPX",
                adv_lots=1_000_000,
                margin_bp=2_500,
            ),
        ),
    ),
    firm=Firm(basis_seq=1, orders=(), fills=()),
    reconciliation=OpenDifferences(basis_seq=1, open_seqs=()),
    market=LastBars(as_of_us=NOW_US - 17 * HOUR_US, closes_ticks=(26_900, 26_950) * 11),
    health=MachineLook(age_us=0, disk_free_bp=5_000, clock_step_us=0),
    paths=PATHS,
    basket=Basket(group="", others_minor=0),
    stress=MarketStress(
        instruments=tuple(
            SeenBars(
                symbol=symbol, as_of_us=NOW_US - 17 * HOUR_US, closes_ticks=(26_900, 26_950) * 11
            )
            for symbol in ("SPXN", "NDXN")
        )
    ),
    scores=ForecastScores(
        model_digest=FORECAST.model_digest,
        basis_seq=1,
        scored=100,
        evidence_milli=1_000,
        shift_bp=900,
    ),
    session=SessionClock(
        since_open_us=HOUR_US, to_close_us=HOUR_US // 12, own_lots=0, market_lots=1_000_000
    ),
    quoting=Quoting(continuous_us=10 * HOUR_US, two_way_us=6 * HOUR_US),
    crowd=Crowd(
        basis_seq=1,
        models=(ModelGross(model_digest="other", gross_minor=100_000_000),),
        pairs=3,
        agreeing=1,
    ),
    publications=Publications(
        basis_seq=1,
        acts=(OwnAct(instrument="SPXN", seq=1, time_us=NOW_US - 24 * HOUR_US),),
    ),
    activity=Activity(
        as_of_us=NOW_US - HOUR_US,
        orders=(),
        day_lots=0,
        messages_second=0,
        messages_window=0,
        fills_window=0,
        messages_day=0,
        fills_day=0,
        orders_day=0,
        brief_day=0,
        bursts_day=(0,) * 6,
        own_messages_second=0,
        own_fills=(),
        withdrawn=(),
    ),
)


def full_state(policy: Policy = FULL, **changes: Any) -> RiskState:  # noqa: ANN401 - any field, any value
    """A state in which INTENT passes every rule of FULL, with some fields changed."""
    return state_with(policy, **{"inputs": INPUTS, **changes})


def inputs_with(**changes: Any) -> Inputs:  # noqa: ANN401 - any source, any value
    """INPUTS with some sources changed."""
    return replace(INPUTS, **changes)
