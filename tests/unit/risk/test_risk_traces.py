"""The digests of verdict and state: quick, strict about types, of everything that was judged."""

import copy
import json
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest
from msgspec import structs

from risk.errors import DocumentError
from risk.evaluate import UNREADABLE, evaluate
from risk.state.inputs.override import Override
from risk.state.paths.arrays import paths_digest
from risk.state.state import RiskState, Stop, seen
from risk.state.trace import state_digest
from risk.verdict import (
    Action,
    Reason,
    RuleId,
    Verdict,
    is_intact,
    verdict_document,
    verdict_from_document,
)
from tests.doubles.full_policy import FULL, INPUTS, full_state, inputs_with
from tests.doubles.random_decisions import decisions
from tests.doubles.risk_cases import INTENT, busy_book

NONSENSE: tuple[Any, ...] = (1.0, float("nan"), True, "7", b"7", 2.5e300)


def test_a_verdict_reads_back_and_shows_what_was_changed() -> None:
    verdict = evaluate(FULL, full_state(), INTENT)
    assert verdict_from_document(verdict_document(verdict)) == verdict
    for place, result in enumerate(verdict.results):
        changed = structs.replace(result, version=result.version + 1)
        results = (*verdict.results[:place], changed, *verdict.results[place + 1 :])
        assert not is_intact(replace(verdict, results=results))
    assert not is_intact(replace(verdict, results=verdict.results[:-1]))
    assert not is_intact(replace(verdict, state_digest="0" * 64))
    earlier = replace(verdict, digest_version=1)
    assert not is_intact(earlier)
    with pytest.raises(DocumentError, match="does not follow"):
        verdict_from_document(verdict_document(earlier))


def hexed(value: object) -> str:
    """SHA-256 of JSON without spaces, as any JSON library makes it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def heads(verdict: Verdict) -> list[Any]:
    return [int(verdict.action), verdict.policy_digest, verdict.intent_digest, verdict.state_digest]


@pytest.mark.parametrize("place", range(40))
def test_an_outsider_makes_the_verdicts_digest_with_any_json_library(place: int) -> None:
    policy, state, intent = list(decisions(80, 2))[place]
    verdict = evaluate(policy, state, intent)
    rows = [structs.asdict(one) for one in verdict.results]
    names = [
        [r[n] for n in ("rule_id", "check", "version", "scope", "unit", "bound")] for r in rows
    ]
    said = [[n, r["outcome"], int(r["action"]), r["reason"], r["note"]] for n, r in enumerate(rows)]
    others = [one for one in said if one[1:] != ["PASS", 0, "WITHIN_LIMIT", ""]]
    numbers = [[r["observed"] for r in rows], [r["limit"] for r in rows], others]
    trace = ["countersign.verdict/3", *heads(verdict), hexed(names), *numbers]
    assert hexed(trace) == verdict.verdict_digest


def test_an_outsider_makes_the_name_of_joint_paths() -> None:
    paths = inputs_with().paths
    assert paths is not None
    wide = replace(paths.instruments[0], moves_1e8=((2**40, -1), (3, 4)))
    wider = replace(paths, instruments=(wide,))
    for one, size in ((paths, 4), (wider, 8)):
        first = one.instruments[0].moves_1e8
        symbols = [each.symbol for each in one.instruments]
        line = ["countersign.paths/2", one.as_of_us, one.bar_us, one.rule_digest, symbols]
        head = json.dumps([*line, len(first[0]), len(first), size], separators=(",", ":"))
        rows = [each.moves_1e8 for each in one.instruments]
        numbers = [path[step] for moves in rows for step in range(len(first[0])) for path in moves]
        data = b"".join(number.to_bytes(size, "little", signed=True) for number in numbers)
        assert paths_digest(one) == sha256(head.encode() + b"\n" + data).hexdigest()


@pytest.mark.parametrize("value", [*NONSENSE, None, (), 2**64])
def test_joint_paths_with_a_number_of_another_type_have_no_name(value: Any) -> None:  # noqa: ANN401 - any type
    paths = inputs_with().paths
    assert paths is not None
    own = paths.instruments[0]
    moves = ((*own.moves_1e8[0][:-1], value), *own.moves_1e8[1:])
    bent = replace(paths, instruments=(replace(own, moves_1e8=moves), *paths.instruments[1:]))
    with pytest.raises(DocumentError):
        state_digest(full_state(inputs=inputs_with(paths=bent)))


def test_a_change_of_any_number_of_joint_paths_changes_the_states_digest() -> None:
    paths = inputs_with().paths
    assert paths is not None
    own = paths.instruments[0]
    found = {state_digest(full_state())}
    for path, step in ((0, 0), (0, 9), (127, 0), (127, 9)):
        rows = [list(one) for one in own.moves_1e8]
        rows[path][step] += 1
        moves = tuple(tuple(one) for one in rows)
        other = replace(paths, instruments=(replace(own, moves_1e8=moves), *paths.instruments[1:]))
        found.add(state_digest(full_state(inputs=inputs_with(paths=other))))
    assert len(found) == 5


def test_results_are_made_when_they_are_read_and_stay() -> None:
    verdict = evaluate(FULL, full_state(), INTENT)
    assert "results" not in vars(verdict)
    assert verdict.results is verdict.results
    assert copy.copy(verdict) == verdict
    with pytest.raises(AttributeError):
        _ = verdict.nothing  # type: ignore[attr-defined]


def test_every_field_of_a_state_is_in_its_digest() -> None:
    plain = full_state()
    changes: dict[str, Any] = {
        "now_us": plain.now_us + 1,
        "book": busy_book(),
        "instrument": replace(plain.instrument, lot=2),
        "quote": None,
        "forecast": None,
        "narrative_as_of_us": None,
        "kill": replace(plain.kill, killed=True),
        "recent": (seen(INTENT, plain.now_us - 1),),
        "policy_status": replace(plain.policy_status, signed_by=()),
        "renewal": True,
        "book_differs": True,
        "narrative_absent": True,
        "stops": (Stop.PAUSE,),
        "inputs": None,
        "override": Override(
            override_id="ab" * 16,
            account=INTENT.account,
            instrument=INTENT.instrument,
            side=INTENT.side,
            rule_id=RuleId.R06,
            check="position",
            qty_max_lots=1,
            notional_max_minor=1,
            policy_digest="0" * 64,
            not_before_us=0,
            expires_us=1,
        ),
    }
    assert set(changes) == {field.name for field in fields(RiskState)}
    found = {state_digest(replace(plain, **{name: value})) for name, value in changes.items()}
    assert len(found | {state_digest(plain)}) == len(changes) + 1


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize("name", [field.name for field in fields(RiskState)])
def test_a_field_of_another_type_has_no_digest(name: str, value: Any) -> None:  # noqa: ANN401 - any type
    if value is True and type(getattr(full_state(), name)) is bool:
        return
    with pytest.raises(DocumentError):
        state_digest(full_state(**{name: value}))


@pytest.mark.parametrize("value", NONSENSE)
def test_a_number_of_another_type_deep_inside_has_no_digest(value: Any) -> None:  # noqa: ANN401 - any type
    assert INPUTS.reference is not None
    row = replace(INPUTS.reference.listed[0], adv_lots=value)
    bent = inputs_with(reference=replace(INPUTS.reference, listed=(row,)))
    state = full_state(inputs=bent)
    with pytest.raises(DocumentError):
        state_digest(state)
    verdict = evaluate(FULL, state, INTENT)
    assert (verdict.state_digest, verdict.action) == (UNREADABLE, Action.REJECT)
    assert Reason.STATE_MALFORMED in {result.reason for result in verdict.worst}


def test_a_copy_of_a_policy_with_another_number_is_another_policy() -> None:
    before = FULL.account
    lower = before.order_notional_max.model_copy(update={"value": 1})
    account = before.model_copy(update={"order_notional_max": lower})
    tighter = FULL.model_copy(update={"account": account})
    first, second = evaluate(FULL, full_state(), INTENT), evaluate(tighter, full_state(), INTENT)
    assert first.policy_digest != second.policy_digest
