"""Counterfactual swaps on record: what is taken, what rule R48 reads of them, what is shown."""

from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.fairness import SwapsBody
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.officers.oversight import swaps
from gateway.desk.officers.oversight.swaps import lexicon_digest, record_swaps
from gateway.errors import ReplayDiffersError, RequestError
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.oversight import justifications
from gateway.walk.journal.control.oversight.justifications import (
    JustificationEntered,
)
from gateway.walk.journal.control.oversight.swaps import SwapsTested, shifts_of
from gateway.walk.journal.forecast import ForecastMade
from inference.codec.codec import ReturnCodec
from inference.codec.scaled import ScaledCodec, reads_numbers_only
from inference.forecast.forecast import Forecast
from inference.forecast.swaps import bound_1e8, quartile_range
from risk.forms.canonical import canonical_bytes
from risk.forms.documents import value_of
from risk.policy.policy import policy_document, policy_from_document
from risk.state.inputs.fairness import SwapShift
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk, memory_desk

FLOOR, IQR = 20_000, 1_200_000
BOUND = 300_000 + FLOOR
MOVED = {"distance_1e8": 10**9, "flips": False, "p_value": "1/1"}
MODEL = "a" * 64
DAY_US = 86_400_000_000
WORD = {"owner": "head of compliance", "why": "criteria of the firm", "review_by": "2027-05-21"}
WORD |= {"name": "turkey", "attribute": "region", "sort": "region"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    document: Any = policy_document(gathered_policy())
    document["families"]["fairness"] = {"words": [WORD]}
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(policy_from_document(document))))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    monkeypatch.setattr(swaps, "quartile_range", lambda _: IQR)
    return memory_desk(tmp_path)


def asked(desk: MemoryDesk, *, replays: bool = True) -> IntentResponse:
    desk.keys += 1
    request = IntentRequest(
        client_key=f"swaps-{desk.keys}",
        instrument="SPXN",
        target_exposure_bp=2_000,
        max_qty_lots=50 + desk.keys,
    )
    response = desk.small.desk.submit(AGENT, request)
    if replays:
        replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
    return response


def justify(desk: MemoryDesk, ref: str, bound_bp: int, supersedes: str = "") -> None:
    """Put an entry on record as the registry would; its signatures are another test's."""
    now_us = desk.small.desk.own.market.now_us()
    terms = {"ref": ref, "proposer": "otto", "mechanism": "sanctions", "attribute": "region"}
    terms |= {"asset_class": "index", "side": "", "supersedes": supersedes}
    numbers = {"horizon_us_max": 20 * DAY_US, "bound_bp": bound_bp, "valid_from_us": now_us - 5}
    entry = {**terms, **numbers, "valid_to_us": now_us + DAY_US, "evidence": ["ab" * 32]}
    said = {"ref": ref, "terms": entry, "signatures": {}, "log_id": "", "actor_name": "otto"}
    draft = JustificationEntered.read(said).draft()
    desk.small.desk.own.tools.ledger.append(draft)


def row(attribute: str, distance: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    given: dict[str, Any] = {"attribute": attribute, "terms": [["Turkey", "Norway"]]}
    given |= {"result": "tested", "distance_1e8": distance, "flips": False, "p_value": "1/2"}
    return given | {"significant": False, "flagged": distance > BOUND} | changes


def forecast_of(desk: MemoryDesk) -> Forecast:
    """Return the forecast of the first decision, as it is on record."""
    (made, *_) = desk.log.records(kinds=(Kind.FORECAST_MADE,))
    return value_of(Forecast, ForecastMade.of(made).forecast)


def report(desk: MemoryDesk, *pairs: dict[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    (made, *_) = desk.log.records(kinds=(Kind.FORECAST_MADE,))
    (taken, *_) = desk.log.records(kinds=(Kind.FORECAST_TAKEN,))
    effect: dict[str, Any] = {"distance_1e8": 0, "flips": False, "p_value": "1/1"}
    given: dict[str, Any] = {
        "decision_id": taken.stream.partition("/")[2],
        "model": ForecastMade.of(made).model_digest,
        "swaps_digest": "5" * 64,
        "paths": forecast_of(desk).n_paths + forecast_of(desk).n_dropped,
        "identity": effect,
        "placebo": effect | {"distance_1e8": FLOOR},
        "floor_1e8": FLOOR,
        "iqr_1e8": IQR,
        "bound_1e8": BOUND,
        "pairs": list(pairs),
    }
    return given | changes


def recorded(desk: MemoryDesk, *pairs: dict[str, Any], **changes: Any) -> int:  # noqa: ANN401 - any field
    body = SwapsBody.model_validate(report(desk, *pairs, **changes))
    return int(record_swaps(desk.small.desk.own, "otto", body)["seq"])


def test_a_swap_inside_the_bound_lets_orders_through(desk: MemoryDesk) -> None:
    assert asked(desk).result == "approved"
    recorded(desk, row("region", BOUND), row("sector", 0))
    assert asked(desk).result == "approved"


def test_weights_that_read_words_are_refused_until_a_swap_was_tested(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(justifications, "reads_numbers_only", lambda _: False)
    first = asked(desk)
    assert first.result == "rejected"
    results = desk.verdict(first.decision_id).body["verdict"]["results"]
    refused = [one for one in results if one["rule_id"] == "R48"]
    assert {(one["action"], one["reason"]) for one in refused} == {("REJECT", "INPUT_MISSING")}
    recorded(desk, row("region", 0, result="absent"))
    assert asked(desk).result == "rejected", "terms that occurred nowhere test nothing"
    recorded(desk, row("region", 0))
    assert asked(desk).result == "approved"


def test_the_codecs_of_bundled_pairs_read_numbers_only() -> None:
    assert reads_numbers_only(ReturnCodec().digest)
    assert reads_numbers_only(ScaledCodec().digest)
    assert not reads_numbers_only("0" * 64)


def test_an_attribute_outside_the_bound_refuses_every_later_order(desk: MemoryDesk) -> None:
    asked(desk)
    seq = recorded(desk, row("client", BOUND + 1))
    later = asked(desk)
    assert later.result == "rejected"
    look = desk.verdict(later.decision_id).body["inputs"]["fairness"]
    assert look["basis_seq"] >= seq
    assert look["swaps"] == [{"attribute": "client", "shift_bp": 31}]


def test_a_region_outside_the_bound_needs_a_justification_that_covers_it(
    desk: MemoryDesk,
) -> None:
    asked(desk)
    recorded(desk, row("region", BOUND + 1))
    assert asked(desk).result == "held"
    justify(desk, "region-1", 30)
    assert asked(desk).result == "held", "one basis point short"
    justify(desk, "region-2", 31, supersedes="region-1")
    assert asked(desk).result == "approved"


def test_only_a_newer_run_that_tested_the_pair_clears_it(desk: MemoryDesk) -> None:
    asked(desk)
    recorded(desk, row("client", BOUND + 1))
    absent = {"attribute": "client", "terms": [["Turkey", "Norway"]], "result": "absent"}
    recorded(desk, absent | {"flagged": False})
    assert asked(desk).result == "rejected", "absent terms say nothing"
    recorded(desk, row("client", BOUND))
    assert asked(desk).result == "approved"


def test_a_verdict_that_overlooks_a_swap_is_found_by_a_replay(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(desk)
    recorded(desk, row("client", BOUND + 1))
    with monkeypatch.context() as fault:
        fault.setattr(justifications, "shifts_of", lambda *_: ())
        overlooked = asked(desk)
        assert overlooked.result == "approved"
    with pytest.raises(ReplayDiffersError, match=r"inputs\.fairness"):
        replay(cast("LedgerReader", desk.log), TABLE, overlooked.decision_id)


def run_of(*pairs: dict[str, Any], model: str = MODEL) -> SwapsTested:
    effect: dict[str, Any] = {"distance_1e8": 0, "flips": False, "p_value": "1/1"}
    return SwapsTested(
        tested_id="d",
        model_digest=model,
        lexicon_digest="",
        swaps_digest="5" * 64,
        paths=16,
        identity=effect,
        placebo=effect,
        floor_1e8=FLOOR,
        iqr_1e8=IQR,
        bound_1e8=BOUND,
        pairs=pairs,
        outside=sum(bool(one["flagged"]) for one in pairs),
        actor_name="otto",
    )


def test_a_shift_is_of_the_weights_in_force_and_beyond_the_floor() -> None:
    runs = (
        run_of(row("region", BOUND + 1), row("issuer", 0, flagged=True, flips=True)),
        run_of(row("region", 9_000_000), model="b" * 64),
    )
    shifts = (SwapShift(attribute="issuer", shift_bp=0), SwapShift(attribute="region", shift_bp=31))
    assert shifts_of(runs, frozenset({MODEL})) == shifts
    assert shifts_of(runs, frozenset()) == ()
    others = row("region", BOUND, terms=[["Chile", "Peru"]])
    assert shifts_of((*runs, run_of(others)), frozenset({MODEL})) == shifts, "another pair"
    assert shifts_of((*runs, run_of(row("region", BOUND))), frozenset({MODEL})) == shifts[:1]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model": MODEL}, "no forecast of the weights"),
        ({"decision_id": "nobody"}, "no forecast of the weights"),
        ({"floor_1e8": FLOOR + 1}, "floor_1e8"),
        ({"bound_1e8": BOUND + 1}, "bound_1e8"),
        ({"iqr_1e8": IQR * 2, "bound_1e8": IQR // 2 + FLOOR}, "iqr_1e8 is not what the recorded"),
        ({"iqr_1e8": 2**52, "bound_1e8": 2**50 + FLOOR}, "iqr_1e8 is not what the recorded"),
        ({"paths": 1}, "paths is not what the recorded"),
        ({"identity": MOVED}, "identity is not what the recorded"),
        ({"identity": MOVED | {"distance_1e8": 0, "flips": True}}, "identity is not what"),
        ({"identity": {"result": "absent"}}, "identity is not what the recorded"),
        ({"placebo": MOVED, "floor_1e8": 10**9, "bound_1e8": 10**9 + 300_000}, "floor_1e8"),
        ({"pairs": [row("client", BOUND + 1, flagged=False)]}, "flagged does not follow"),
        ({"pairs": [row("client", 0, flips=True)]}, "flagged does not follow"),
        ({"pairs": [row("client", 0, significant=True)]}, "significant does not follow"),
    ],
)
def test_what_its_own_effects_contradict_is_not_recorded(
    desk: MemoryDesk, changes: dict[str, Any], problem: str
) -> None:
    asked(desk)
    with pytest.raises(RequestError, match=problem):
        recorded(desk, row("client", BOUND + 1), **changes)
    assert not [*desk.log.records(kinds=(Kind.SWAPS_TESTED,))]


def test_the_quartiles_are_those_of_the_recorded_forecast(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swaps, "quartile_range", quartile_range)
    asked(desk)
    forecast = forecast_of(desk)
    by_level = dict(zip(forecast.levels_bp, forecast.quantiles_1e8, strict=True))
    iqr = by_level[7500][-1] - by_level[2500][-1]
    assert iqr > 0
    for said in (iqr - 1, iqr + 1):
        with pytest.raises(RequestError, match="iqr_1e8 is not what the recorded"):
            recorded(desk, row("region", 0), iqr_1e8=said, bound_1e8=bound_1e8(FLOOR, said))
    assert recorded(desk, row("region", 0), iqr_1e8=iqr, bound_1e8=bound_1e8(FLOOR, iqr))


def test_a_placebo_that_moves_as_far_as_a_pair_widens_the_bound_no_more(desk: MemoryDesk) -> None:
    asked(desk)
    widest = {"placebo": MOVED, "floor_1e8": IQR // 4, "bound_1e8": IQR // 2}
    with pytest.raises(RequestError, match="flagged does not follow"):
        recorded(desk, row("client", IQR // 2 + 1, flagged=False), **widest)
    recorded(desk, row("client", IQR // 2 + 1), **widest)
    assert asked(desk).result == "rejected"


@pytest.mark.parametrize("wrong", [{"p_value": "1/0"}, {"attribute": "neutral"}, {"terms": []}])
def test_a_row_that_is_no_test_is_refused(desk: MemoryDesk, wrong: dict[str, Any]) -> None:
    asked(desk)
    with pytest.raises(ValidationError):
        recorded(desk, row("client", 0) | wrong)


def test_a_run_names_weights_lexicon_and_person_and_is_shown(desk: MemoryDesk) -> None:
    asked(desk)
    small = desk.small
    browser = TestClient(build_api(small.desk, small.keyring))

    def call(name: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:  # noqa: ANN401 - JSON
        token = small.keyring.token(name)
        answer = browser.request(
            method, path, json=body, headers={"Authorization": f"Bearer {token}"}
        )
        return answer.status_code, answer.json()

    told = report(desk, row("region", BOUND + 1))
    assert call("agent", "POST", "/v1/fairness/swaps", told)[0] == 403
    status, done = call("operator", "POST", "/v1/fairness/swaps", told)
    assert (status, done["outside"]) == (200, 1)
    (record,) = desk.log.records(kinds=(Kind.SWAPS_TESTED,))
    run = SwapsTested.of(record)
    families = small.desk.own.section.policy.families
    assert families is not None
    assert run.lexicon_digest == lexicon_digest(families.fairness) != lexicon_digest(None)
    assert (run.tested_id, run.model_digest) == (told["decision_id"], told["model"])
    assert (run.actor_name, record.seq) == ("operator", done["seq"])
    shown = call("auditor", "GET", "/v1/fairness/justifications")[1]["swaps"]
    assert [(one["seq"], one["outside"]) for one in shown] == [(record.seq, 1)]
