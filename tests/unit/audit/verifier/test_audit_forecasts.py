"""Outsiders see which forecast a decision rests on: of which inputs, by which seeds, which attempt.

In a whole log and in a decision's bundle, which has the forecast; both verifiers say the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import LedgerError
from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.verifier import verify
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED
from tests.doubles.audit_log import SIGNER, dump_of, note
from tests.doubles.both_verifiers import Change, both, told
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.forecast_log import ForecastLog, Made, as_it_is, id_of, inputs_of

KEY = str(SIGNER.vkey)
NEWER = "whether a newer forecast stood"
Ask = Callable[[bytes], tuple[int, str]]


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Ask both verifiers about a file; of a bundle they describe the copy in it differently."""

    def asked(data: bytes) -> tuple[int, str]:
        file = tmp_path / "evidence"
        file.write_bytes(data)
        return both(capsys, str(file), "--key", KEY, verdict=data.startswith(b"PK"))

    return asked


def log_of(change: Change = as_it_is) -> ForecastLog:
    """A log whose forecasts and decisions are edited as they are made."""
    return ForecastLog(change=change).begin()


def decided(log: ForecastLog, made: Made, name: str = "d1") -> ForecastLog:
    log.decide(name, made)
    log.checkpoint()
    return log


def bundle_of(log: ForecastLog, name: str = "d1") -> bytes:
    return build_bundle(MemoryReader(log), name)


def without(data: bytes, *words: str) -> bytes:
    """Take records out of a bundle by their names or streams, with the blobs of only these."""
    bundle = verify.read_bundle(data)

    def is_kept(stem: str) -> bool:
        head = bundle.records[stem][0].decode()
        return not any(word in stem or f'"stream":"{word}' in head for word in words)

    kept = {stem: item for stem, item in bundle.records.items() if is_kept(stem)}
    assert len(kept) < len(bundle.records)
    payloads = b"".join(payload for _, payload, _ in kept.values())
    blobs = {name: blob for name, blob in bundle.blobs.items() if name.encode() in payloads}
    return replace(bundle, records=kept, blobs=blobs).to_zip()


def both_find(log: ForecastLog, ask: Ask, why: str) -> None:
    """The whole log and the decision's bundle are both tampered, for this reason."""
    for data in (b"".join(dump_of(log)), bundle_of(log)):
        code, said = ask(data)
        assert (code, why in said) == (TAMPERED, True), said


def test_a_bundle_has_the_forecast_and_shows_where_its_seeds_came_from(ask: Ask) -> None:
    log = log_of()
    root = log.checkpoints[-1].size
    made = log.attempt()
    log.decide("d1", made)
    decided(log, made, "d2")
    assert ask(b"".join(dump_of(log)))[0] == OK
    for name in ("d1", "d2"):
        data = bundle_of(log, name)
        code, said = ask(data)
        assert code == OK, said
        assert f"its seed is the root of {root}, the last before" in said
        there = [stem for stem in verify.read_bundle(data).records if "-forecast_made" in stem]
        assert len(there) == 1


def _request(**changes: Any) -> Change:  # noqa: ANN401 - any field
    return told(Kind.FORECAST_REQUESTED, **changes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_request(seeds_digest="0" * 64), "its seeds do not follow from its root"),
        (_request(seed_size=10**6), "its seed comes from a later root"),
        (_request(seed_size=0), "its seed comes from a later root"),
        (_request(seed_rule=2), "its seed does not follow rule 3"),
        (_request(seed_rule=True), "its seed does not follow rule 3"),
        (
            lambda draft: replace(
                draft, payload={n: v for n, v in draft.payload.items() if n != "seed_rule"}
            ),
            "its seed does not follow rule 3",
        ),
    ],
)
def test_a_chosen_seed_is_found(ask: Ask, change: Change, why: str) -> None:
    log = log_of(change)
    both_find(decided(log, log.attempt()), ask, why)


def test_an_earlier_root_is_found(ask: Ask) -> None:
    log = log_of()
    log.attempt(instrument="NDXN")
    old = log.checkpoints[-1]
    log.append(note("between"))
    log.checkpoint()
    log._roots["SPXN"] = old  # noqa: SLF001 - the choice that is to be found
    log = decided(log, log.attempt())
    code, said = ask(b"".join(dump_of(log)))
    assert (code, f"the root of {old.size}, the last checkpoint was of" in said) == (TAMPERED, True)
    code, said = ask(bundle_of(log))
    assert code == OK, "a note to somebody lies between, which a bundle does not show"
    assert "is not checkable" in said


def test_every_attempt_has_the_root_of_the_first(ask: Ask) -> None:
    def played(*, newer: bool) -> ForecastLog:
        log = log_of()
        log.attempt(outcome="failed")
        log.checkpoint()
        if newer:
            log._roots["SPXN"] = log.checkpoints[-1]  # noqa: SLF001 - as above
        return decided(log, log.attempt(1))

    for data in (b"".join(dump_of(played(newer=False))), bundle_of(played(newer=False))):
        code, said = ask(data)
        assert code == OK, said
    both_find(played(newer=True), ask, "its seed comes from a later root")


def test_a_later_rule_is_not_checkable(ask: Ask) -> None:
    log = log_of(_request(seed_rule=4))
    log = decided(log, log.attempt())
    for data in (b"".join(dump_of(log)), bundle_of(log)):
        assert ask(data)[0] == NOT_CHECKABLE


def test_an_id_of_other_inputs_is_found(ask: Ask) -> None:
    log = log_of(told(Kind.SNAPSHOT_TAKEN, inputs=lambda given: {**given, "secure": True}))
    both_find(decided(log, log.attempt()), ask, "its forecast_id is not that of its inputs")


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ({"outcome": "failed"}, OK),
        ({"outcome": "abandoned"}, OK),
        ({"source": "table"}, OK),
        ({"source": "target"}, TAMPERED),
    ],
)
def test_an_attempt_follows_only_a_failure(ask: Ask, before: Mapping[str, Any], code: int) -> None:
    log = log_of()
    log.attempt(**before)
    log = decided(log, log.attempt(1))
    if code:
        both_find(log, ask, "the attempt before it has no failure on record")
    else:
        assert [ask(data)[0] for data in (b"".join(dump_of(log)), bundle_of(log))] == [OK, OK]


def test_a_second_attempt_alone_is_found(ask: Ask) -> None:
    log = log_of()
    log = decided(log, log.attempt(1))
    code, said = ask(b"".join(dump_of(log)))
    assert (code, "the attempt before it is not on record" in said) == (TAMPERED, True), said
    with pytest.raises(LedgerError, match="no forecast"):
        bundle_of(log)


def test_nothing_follows_a_seal(ask: Ask) -> None:
    log = log_of()
    made = log.attempt()
    log._add(made, Kind.FORECAST_FAILED, {"reason": "late", "detail": ""})  # noqa: SLF001 - out of its place, on purpose
    both_find(decided(log, made), ask, "its forecast is sealed before it")


def test_the_forecast_of_another_instrument_is_found(ask: Ask) -> None:
    log = log_of(told(Kind.FORECAST_TAKEN, instrument="SPXN"))
    both_find(decided(log, log.attempt(instrument="NDXN")), ask, "its forecast is of another")


def test_the_record_of_another_forecast_is_found(ask: Ask) -> None:
    log = log_of()
    other, made = log.attempt(instrument="NDXN"), log.attempt()
    log = decided(log, replace(made, seq=other.seq, leaf=other.leaf))
    both_find(log, ask, "the record that it names is not the forecast that was made")


def test_a_decision_may_name_a_failure_that_is_on_record(ask: Ask) -> None:
    log = log_of()
    made = log.attempt(outcome="failed")
    log = decided(log, made)
    assert [ask(data)[0] for data in (b"".join(dump_of(log)), bundle_of(log))] == [OK, OK]
    log = log_of()
    log.attempt(outcome="failed")
    log = decided(log, replace(made, missing="engine_deadline"))
    both_find(log, ask, "the attempt that it names did not fail so")
    log = log_of()
    log = decided(log, replace(log.attempt(), seq=None, leaf=""))
    both_find(log, ask, "it must name either a forecast or why there is none")


def test_a_newer_forecast_that_was_passed_over_is_found(ask: Ask) -> None:
    log = log_of()
    made = log.attempt()
    log.attempt(secure=True)
    both_find(decided(log, made), ask, "index: a forecast that stood was passed over")


def test_the_last_forecast_that_stands_may_be_named_again_and_again(ask: Ask) -> None:
    log = log_of()
    first, other = log.attempt(), log.attempt(secure=True)
    log.again(first)
    log.decide("d1", first)
    log.again(other)
    log.decide("d2", other)
    log.again(first, 2)
    decided(log, first, "d3")
    for data in (b"".join(dump_of(log)), *(bundle_of(log, name) for name in ("d1", "d2", "d3"))):
        code, said = ask(data)
        assert (code, "not checkable" in said) == (OK, False), said
    both_find(decided(log, other), ask, "index: a forecast that stood was passed over")


@pytest.mark.parametrize(
    ("times", "which", "why"),
    [
        (1, "standing", "the forecast that it names stood already"),
        (2, "earlier", "its count is not the next one"),
        (1, "never", "it names no forecast that was made before"),
    ],
)
def test_a_forecast_that_does_not_stand_again_is_found(
    ask: Ask, times: int, which: str, why: str
) -> None:
    log = log_of()
    earlier, standing = log.attempt(), log.attempt(secure=True)
    never = replace(earlier, number=1)
    log.again({"standing": standing, "earlier": earlier, "never": never}[which], times)
    log.checkpoint()
    code, said = ask(b"".join(dump_of(log)))
    assert (code, f"index: {why}" in said) == (TAMPERED, True), said


@pytest.mark.parametrize("event", ["opened", "made"])
def test_an_opening_or_an_end_without_its_line_is_found(ask: Ask, event: str) -> None:
    log = log_of()
    log.unlisted = frozenset({event})
    log.attempt()
    log.checkpoint()
    code, said = ask(b"".join(dump_of(log)))
    assert (code, "has no line of its index right after it" in said) == (TAMPERED, True), said


@pytest.mark.parametrize("event", ["made", "opened", "failed", "abandoned", "", "other"])
def test_a_line_without_its_record_is_found(ask: Ask, event: str) -> None:
    log = log_of()
    made = log.attempt()
    log.append(note("between"))
    log.append(log._line(made, event, 0))  # noqa: SLF001 - the line that is to be found
    log.checkpoint()
    code, said = ask(b"".join(dump_of(log)))
    assert (code, "what it lists is not the record before it" in said) == (TAMPERED, True), said


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        (slice(None), "the line by which its forecast stands is not shown"),
        (slice(1), "the line by which its forecast stands is not shown"),
        (slice(1, 2), "instrument/SPXN goes from 1 to 3"),
        (slice(3, 4), "instrument/SPXN ends at 5 in the signed map, at 3 here"),
    ],
)
def test_a_bundle_without_its_part_of_the_index_is_incomplete(
    ask: Ask, lost: slice, why: str
) -> None:
    log = log_of()
    made = log.attempt()
    log.attempt(outcome="failed", secure=True)
    log.decide("d1", made)
    log.attempt(1, secure=True)
    log.checkpoint()
    data = bundle_of(log)
    lines = [stem for stem in verify.read_bundle(data).records if "forecast_listed" in stem]
    assert (ask(data)[0], len(lines)) == (OK, 4)
    code, said = ask(without(data, *lines[lost]))
    assert (code, why in said) == (INCOMPLETE, True), said


def test_maps_show_that_no_line_came_between_a_forecast_and_a_decision(ask: Ask) -> None:
    def decided_later(between: Draft) -> bytes:
        log = log_of()
        made = log.attempt()
        log.checkpoint()
        log.append(between)
        log.checkpoint()
        return bundle_of(decided(log, made))

    tick = replace(note("tick"), kind=Kind.ENGINE_EVENT, payload={"event": "tick", "detail": ""})
    data = decided_later(tick)
    code, said = ask(data)
    assert (code, NEWER in said) == (OK, False), said
    maps = [stem for stem in verify.read_bundle(data).records if "stream_heads" in stem]
    for shown in (without(data, maps[2]), decided_later(note("to somebody"))):
        code, said = ask(shown)
        assert (code, f"{NEWER} is not checkable" in said) == (OK, True), said


def _named(number: int) -> str:
    return f"forecast/{id_of(inputs_of('SPXN'))}.{number}"


@pytest.mark.parametrize(
    "lost",
    [
        (_named(0), _named(1)),
        (_named(0),),
        (_named(1),),
        ("forecast_sealed",),
        ("forecast_requested",),
        ("forecast_made",),
        ("snapshot_taken",),
        ("run_started",),
    ],
)
@pytest.mark.parametrize("outcome", ["made", "failed"])
def test_a_bundle_without_the_forecast_that_it_names_is_incomplete(
    ask: Ask, lost: tuple[str, ...], outcome: str
) -> None:
    log = log_of()
    log.attempt(outcome="abandoned")
    data = bundle_of(decided(log, log.attempt(1, outcome)))
    assert ask(data)[0] == OK
    if lost != ("forecast_made",) or outcome == "made":
        code, said = ask(without(data, *lost))
        assert code == INCOMPLETE, said
