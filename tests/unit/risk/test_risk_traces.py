"""The digests of format 2: quick, strict about types, and of everything that was judged."""

import json
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest
from msgspec import structs

from risk.errors import DocumentError
from risk.evaluate import UNREADABLE, evaluate
from risk.state.inputs.override import Override
from risk.state.state import RiskState, Stop, seen
from risk.state.trace import trace_digest
from risk.verdict import (
    Action,
    Reason,
    RuleId,
    is_intact,
    verdict_document,
    verdict_from_document,
)
from tests.doubles.full_policy import FULL, INPUTS, full_state, inputs_with
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
    assert not is_intact(replace(verdict, digest_version=1))


def test_an_outsider_makes_the_verdicts_digest_with_any_json_library() -> None:
    verdict = evaluate(FULL, full_state(), INTENT)
    rows = [structs.asdict(one) for one in verdict.results]
    heads = [verdict.policy_digest, verdict.intent_digest, verdict.state_digest]
    trace = ["countersign.verdict/2", int(verdict.action), *heads, rows]
    text = json.dumps(trace, separators=(",", ":"), ensure_ascii=False)
    assert sha256(text.encode()).hexdigest() == verdict.verdict_digest


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
    digests = {trace_digest(replace(plain, **{name: value})) for name, value in changes.items()}
    assert len(digests | {trace_digest(plain)}) == len(changes) + 1


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize("name", [field.name for field in fields(RiskState)])
def test_a_field_of_another_type_has_no_digest(name: str, value: Any) -> None:  # noqa: ANN401 - any type
    if value is True and type(getattr(full_state(), name)) is bool:
        return
    with pytest.raises(DocumentError):
        trace_digest(full_state(**{name: value}))


@pytest.mark.parametrize("value", NONSENSE)
def test_a_number_of_another_type_deep_inside_has_no_digest(value: Any) -> None:  # noqa: ANN401 - any type
    assert INPUTS.reference is not None
    row = replace(INPUTS.reference.listed[0], adv_lots=value)
    bent = inputs_with(reference=replace(INPUTS.reference, listed=(row,)))
    state = full_state(inputs=bent)
    with pytest.raises(DocumentError):
        trace_digest(state)
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
