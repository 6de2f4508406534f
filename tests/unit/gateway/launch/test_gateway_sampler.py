"""One direct forecast in fifty is held against the engine, on record, and an alarm rings."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from audit.records.kinds import Kind
from gateway.installation.policies import policy as shipped
from gateway.launch.threads import sampler
from gateway.launch.threads.alarms import differing
from gateway.launch.threads.sampler import CHECKED_ONE_IN, SamplerWatch, is_checked
from gateway.telemetry.alarms.catalogue import Alarm
from gateway.walk.journal.control.oversight.sampler import SamplerChecked
from inference.codec.scaled import ScaledCodec
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadError
from inference.speculation.evidence_bytes import decode_evidence
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.row_engine import RowEngine
from tests.doubles.scaled_desk import silent_desk, with_engine


@pytest.fixture(name="desk")
def desk_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    """A desk whose forecasts are all drawn directly, and all checked."""
    signed = tmp_path / "policy.json"
    policy = gathered_policy(families__modes__direct_sampler=2)
    signed.write_bytes(canonical_bytes(policy_document(policy)))
    monkeypatch.setattr(shipped, "SHIPPED", signed)
    monkeypatch.setattr(sampler, "is_checked", lambda _: True)
    return silent_desk(tmp_path, 4)


def served(desk: MemoryDesk, sharpness: float) -> SamplerWatch:
    """Let an engine serve whose rows are the table's, or sharper ones."""
    table = desk.small.desk.own.tools.table
    with_engine(desk, RowEngine(table=table, codec=ScaledCodec(), sharpness=sharpness))
    return SamplerWatch(desk.small.desk)


def checks(desk: MemoryDesk) -> list[SamplerChecked]:
    return [SamplerChecked.of(one) for one in desk.log.of_kind(Kind.SAMPLER_CHECKED)]


def test_one_in_fifty_is_checked_by_its_id() -> None:
    found = sum(is_checked(f"{number:026}") for number in range(50 * CHECKED_ONE_IN))
    assert 25 < found < 90


def test_an_engine_of_the_same_law_rings_nothing(desk: MemoryDesk) -> None:
    watch = served(desk, 1.0)
    assert watch.look() == len(desk.log.of_kind(Kind.TOKENS_DRAWN)) == 4
    for one, drawn in zip(checks(desk), desk.log.of_kind(Kind.TOKENS_DRAWN), strict=True):
        assert (one.of_seq, one.of_leaf) == (drawn.seq, drawn.leaf.hex())
        assert one.degrees > 0
        evidence = decode_evidence(desk.log.blob(one.capture_blob) or b"")
        assert len(evidence.seeds) == drawn.body["paths"]
    assert not differing(watch)
    assert watch.look() == 0
    assert SamplerWatch(desk.small.desk).look() == 0, "a restart checks nothing twice"


def test_an_engine_of_another_law_rings(desk: MemoryDesk) -> None:
    watch = served(desk, 2.0)
    watch.look()
    assert not differing(watch), "what was just written is read with the next look"
    watch.look()
    assert "chance" in differing(watch)[Alarm.SAMPLER_DIFFERS]


def test_a_forecast_of_another_pair_is_not_checked(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    served(desk, 1.0)
    desk.small.desk.own = replace(own, tools=replace(own.tools, model="0" * 64))
    assert SamplerWatch(desk.small.desk).look() == 0
    assert not checks(desk)


def test_draws_of_an_attempt_that_made_no_forecast_are_not_checked(desk: MemoryDesk) -> None:
    (first, *others) = desk.log.of_kind(Kind.FORECAST_MADE)
    desk.log.forged = msgspec.structs.replace(first, kind=Kind.FORECAST_FAILED)
    assert served(desk, 1.0).look() == len(others) == 3


def test_nothing_is_checked_without_an_engine(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = served(desk, 1.0)

    def away(_: object, request: SampleRequest) -> Samples:
        raise EngineDeadError(request.request_id)

    with monkeypatch.context() as patch:
        patch.setattr(RowEngine, "sample", away)
        assert watch.look() == 0
    assert watch.look() == 4
