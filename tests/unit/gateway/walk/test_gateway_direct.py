"""A forecast that is drawn from rows known by state: when, on which record, and again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec
import pytest
from typing_extensions import override

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.explanation import decision_document
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy as shipped
from gateway.walk.journal.forecast import ModeChosen, TokensDrawn
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadError
from inference.speculation.direct import RULE
from inference.speculation.direct_bytes import decode_direct
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import page_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.scaled_desk import scaled_desk, silent_desk

Desks = Callable[..., MemoryDesk]


@pytest.fixture(name="desk_of")
def desk_of_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desks:
    """Return what makes a desk under a policy with modes, `direct_sampler` as given."""

    def made(
        sessions: int = 2, use: int = 1, make: Callable[..., MemoryDesk] = silent_desk
    ) -> MemoryDesk:
        signed = tmp_path / "policy.json"
        policy = gathered_policy(families__modes__direct_sampler=use)
        signed.write_bytes(canonical_bytes(policy_document(policy)))
        monkeypatch.setattr(shipped, "SHIPPED", signed)
        return make(tmp_path, sessions)

    return made


def modes(desk: MemoryDesk) -> list[ModeChosen]:
    return [ModeChosen.of(one) for one in desk.log.of_kind(Kind.MODE_CHOSEN)]


def again(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    (decision,) = {one.body["decision_id"] for one in desk.log.of_kind(Kind.FORECAST_TAKEN)[:1]}
    replay(cast("LedgerReader", desk.log), own.tools.table, decision)


def forge(desk: MemoryDesk, record: Record, **changes: object) -> None:
    body = {**record.body, **changes}
    desk.log.forged = msgspec.structs.replace(record, payload=canonical(body))


def test_the_first_forecast_of_an_instrument_is_drawn_directly(desk_of: Desks) -> None:
    desk = desk_of()
    for chosen, record in zip(modes(desk), desk.log.of_kind(Kind.TOKENS_DRAWN), strict=True):
        assert (chosen.sampler, chosen.by_state, chosen.first) == ("direct", True, True)
        drawn = TokensDrawn.of(record)
        capture = decode_direct(desk.log.blob(drawn.capture_blob) or b"")
        assert (drawn.rule, drawn.seed) == (RULE, capture.seed.hex())
        assert drawn.capture_bytes < 8_000
    for asked in desk.log.of_kind(Kind.FORECAST_REQUESTED):
        assert (asked.body["sampler"], asked.body["seeds_digest"]) == ("direct", "")
        assert (asked.body["drafter"], asked.body["spec_k"]) == ("none", 0)
    assert not desk.log.of_kind(Kind.ROUNDS_CAPTURED)
    assert len(desk.log.of_kind(Kind.GJR_MADE)) == len(modes(desk)) == 2
    again(desk)


def test_the_next_one_is_the_engines_unless_it_is_fast(desk_of: Desks) -> None:
    desk = desk_of(6)
    later = [one for one in modes(desk) if not one.first]
    assert later
    for one in later:
        assert one.by_state
        assert one.sampler == ("direct" if one.chosen == "fast" else "engine")


@pytest.mark.parametrize(("use", "sampler"), [(0, "engine"), (2, "direct")])
def test_the_policy_says_which_are(desk_of: Desks, use: int, sampler: str) -> None:
    assert {one.sampler for one in modes(desk_of(4, use))} == {sampler}


def test_nothing_is_drawn_directly_from_rows_that_are_not_known(desk_of: Desks) -> None:
    found = modes(desk_of(2, 2, scaled_desk))
    assert [(one.by_state, one.sampler) for one in found] == [(False, "engine")] * 2


def test_page_and_document_say_how_it_was_drawn(desk_of: Desks, tmp_path: Path) -> None:
    desk = desk_of(1)
    (taken,) = desk.log.of_kind(Kind.FORECAST_TAKEN)
    decision = taken.body["decision_id"]
    page = page_desk(tmp_path, desk=desk).read(f"/decisions/{decision}")
    assert "Nothing was drafted" in page
    assert RULE in page
    table = desk.small.desk.own.tools.table
    said = decision_document(cast("LedgerReader", desk.log), table, decision)
    (drawn,) = desk.log.of_kind(Kind.TOKENS_DRAWN)
    assert f'"tokens_digest": "{_tokens(desk, drawn)}"' in json.dumps(said)


def _tokens(desk: MemoryDesk, drawn: Record) -> str:
    data = desk.log.blob(TokensDrawn.of(drawn).capture_blob) or b""
    return decode_direct(data).tokens_digest.hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dying(RowEngine):
    """Describes itself, and is dead when it is asked."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadError(f"{request.request_id}: dead")


def test_the_engine_is_not_asked(desk_of: Desks) -> None:
    desk = desk_of(0)
    own = desk.small.desk.own
    dying = _Dying(table=own.tools.table, codec=own.tools.codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=dying))
    desk.small.play(1)
    assert len(desk.log.of_kind(Kind.FORECAST_MADE)) == 1
    assert not desk.log.of_kind(Kind.FORECAST_FAILED)


@pytest.mark.parametrize(
    ("kind", "changes", "why"),
    [
        (Kind.TOKENS_DRAWN, {"seed": "0" * 64}, "payload.seed"),
        (Kind.TOKENS_DRAWN, {"states": 1}, "payload.states"),
        (Kind.MODE_CHOSEN, {"sampler": "engine"}, "mode_chosen"),
        (Kind.MODE_CHOSEN, {"first": False}, "mode_chosen"),
        (Kind.FORECAST_REQUESTED, {"paths": 8}, "paths"),
        (Kind.FORECAST_REQUESTED, {"sampler": "engine"}, "forecast_requested"),
    ],
)
def test_a_replay_finds_what_does_not_follow(
    desk_of: Desks, kind: Kind, changes: dict[str, object], why: str
) -> None:
    desk = desk_of(1)
    (record,) = desk.log.of_kind(kind)
    forge(desk, record, **changes)
    with pytest.raises(ReplayDiffersError, match=why):
        again(desk)
