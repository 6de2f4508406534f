"""What the ledger keeps of a capture decides all of it again, in few bytes; any change shows."""

import struct
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from inference.codec.codec import ReturnCodec
from inference.engine.self_test import golden_prompt
from inference.errors import CaptureError
from inference.speculation.capture import encode_capture
from inference.speculation.condense import condense
from inference.speculation.evidence import Bracket, Evidence, Judge, RoundEvidence, judge
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import Capture, DrafterKind, PlainReason, QTable, RoundOutcome
from inference.speculation.seeds import trajectory_seeds
from inference.speculation.totals import paths, totals
from inference.weights.registry import read_table
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    hopeless_row,
    make_table,
    request_of,
    target_model,
    with_first_rows,
)
from tests.doubles.row_engine import RowEngine

BINS = 32
LIMIT_BYTES = 64_000
TABLE = make_table([draft_model(BINS)(token) for token in range(5)])
PAIR = Path(__file__).parents[4] / "inference" / "models" / "pair_v1"


def _network(tokens: int = 10, n: int = 12, n_bins: int = BINS, spec_k: int = 4) -> Capture:
    sampler = ReferenceSampler(target=target_model(n_bins), draft=draft_model(n_bins))
    return sampler.capture(request_of(n, tokens, n_bins=n_bins, spec_k=spec_k))


def _table() -> Capture:
    return ReferenceSampler(target=target_model(BINS), table=TABLE).capture(request_of(12))


@lru_cache
def _evidence() -> Evidence:
    return condense(_network())


CASES = [(_network(), None), (_table(), TABLE)]


@pytest.mark.parametrize(("capture", "table"), CASES, ids=["network", "table"])
def test_evidence_decides_what_the_rows_decided(capture: Capture, table: QTable | None) -> None:
    evidence = decode_evidence(encode_evidence(condense(capture, table)))
    assert judge(evidence, table) == ()
    assert totals(evidence) == totals(capture)
    assert paths(evidence) == paths(capture)
    assert evidence.seeds == capture.seeds
    for kept, full in zip(evidence.rounds, capture.rounds, strict=True):
        assert (kept.drafts, kept.accepted, kept.token) == (full.drafts, full.accepted, full.token)
        assert (kept.outcome, kept.plain_reason) == (full.outcome, full.plain_reason)
        for entropy, exact in zip(kept.entropies, full.entropies, strict=True):
            assert entropy / 1024 == pytest.approx(exact, abs=1 / 2048 + 1e-9)


def _samples(kind: DrafterKind, n: int, tokens: int) -> tuple[Capture, QTable | None]:
    codec = ReturnCodec()
    request = replace(
        request_of(n, tokens, n_bins=codec.n_bins),
        prompt_ids=golden_prompt(),
        seeds=trajectory_seeds(b"size", n),
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
    )
    if kind is DrafterKind.TABLE:
        table = read_table((PAIR / "table.safetensors").read_bytes())
        return RowEngine(table=table, codec=codec).sample(request).capture, table
    draft = draft_model(codec.n_bins) if kind is DrafterKind.NETWORK else None
    sampler = ReferenceSampler(target=target_model(codec.n_bins), draft=draft)
    return sampler.capture(request), None


@pytest.mark.parametrize("kind", list(DrafterKind), ids=str)
def test_a_capture_of_64_paths_of_20_steps_stays_within_64_kilobytes(kind: DrafterKind) -> None:
    capture, table = _samples(kind, 64, 20)
    data = encode_evidence(condense(capture, table))
    assert len(data) <= LIMIT_BYTES
    assert len(data) * 3 < len(encode_capture(capture)) or kind is DrafterKind.TABLE
    assert all(len(path) == 20 for path in paths(decode_evidence(data)))


def _worst_round(path: int, step: int, accepted: int, drafts: int) -> RoundEvidence:
    near = 1.0 - 3e-7
    verified = min(drafts, accepted + 1)
    return RoundEvidence(
        trajectory=path,
        step=step,
        drafts=(200,) * drafts,
        states=(),
        p=(0.1,) * verified,
        q=(0.1,) * verified,
        q_picks=(Bracket(before=0.3, total=near),) * verified,
        accepted=accepted,
        token=201,
        token_p=0.1,
        token_q=0.1 if drafts else None,
        picked=Bracket(before=0.3, total=0.7 if drafts else near),
        no_rest=False,
        outcome=RoundOutcome.RECOVERED if drafts else RoundOutcome.PLAIN,
        plain_reason=None if drafts else PlainReason.NOT_SCHEDULED,
        truncated=0,
        entropies=(5000,) * (accepted + 1),
    )


@pytest.mark.parametrize(("spec_k", "limit"), [(4, LIMIT_BYTES), (8, 64 * 1024)], ids=str)
def test_the_worst_capture_there_can_be_stays_within_64_kilobytes(spec_k: int, limit: int) -> None:
    """Two rounds without an accepted draft, one with one: a third such round would end drafting.

    No first row is shared, and every number is of full length: there is no compressor to help. A
    look-ahead of 8 is the most that a setting allows.
    """
    rounds: list[RoundEvidence] = []
    for path in range(64):
        step, turn = 0, 0
        while step < 20:
            drafts = min(spec_k, 20 - step - 1) if step else 0
            accepted = 1 if drafts > 1 and turn % 3 == 2 else 0
            rounds.append(_worst_round(path, step, accepted, drafts))
            step += len(rounds[-1].emitted)
            turn += bool(drafts)
    first = tuple(struct.unpack("<256f", struct.pack("<256f", *(1 / 256,) * 256)))
    evidence = replace(
        _evidence(),
        spec_k=spec_k,
        n_bins=256,
        first_row=first,
        seeds=tuple((1 << 63) - 1 - i for i in range(64)),
        row_digests=(b"\xff" * 32,) * 64,
        rounds=tuple(rounds),
    )
    data = encode_evidence(evidence)
    assert 50_000 < len(data) <= limit
    assert totals(decode_evidence(data)) == totals(evidence)


def _rejected() -> RoundEvidence:
    return next(
        r for r in _evidence().rounds if r.outcome is RoundOutcome.RECOVERED and r.accepted >= 1
    )


def _drawn() -> RoundEvidence:
    return next(r for r in _evidence().rounds if r.outcome is RoundOutcome.BONUS)


def _other(token: int) -> int:
    return 128 + (token - 128 + 1) % BINS


def _shifted(bracket: Bracket | None) -> Bracket:
    assert bracket is not None
    return replace(bracket, before=bracket.before + 0.5 * bracket.total)


def _lowered(r: RoundEvidence) -> Bracket:
    assert r.picked is not None
    return replace(r.picked, before=r.picked.before - 2 * r.token_p)


def _changes() -> dict[str, tuple[RoundEvidence, RoundEvidence]]:
    r, b = _rejected(), _drawn()
    fewer = replace(
        r,
        accepted=r.accepted - 1,
        p=r.p[:-1],
        q=r.q[:-1],
        q_picks=r.q_picks[:-1],
        entropies=r.entropies[:-1],
    )
    return {
        "the accepted draft's p": (r, replace(r, p=(0.0, *r.p[1:]))),
        "the accepted draft's q": (r, replace(r, q=(1.0, *r.q[1:]))),
        "the rejected draft's p": (r, replace(r, p=(*r.p[:-1], 1.0))),
        "the draft's bracket": (r, replace(r, q_picks=(_shifted(r.q_picks[0]), *r.q_picks[1:]))),
        "the draft row's sum": (
            r,
            replace(r, q_picks=(replace(r.q_picks[0], total=1.5), *r.q_picks[1:])),
        ),
        "the accepted count": (r, fewer),
        "the recovered token's p": (r, replace(r, token_p=0.0)),
        "the recovered token's q": (r, replace(r, token_q=1.0)),
        "the residual's sum": (r, replace(r, picked=replace(r.picked, total=2.0))),  # type: ignore[type-var]
        "the recovered token's bracket": (r, replace(r, picked=_shifted(r.picked))),
        "whether the residual had mass": (r, replace(r, no_rest=True)),
        "the bonus token's bracket": (b, replace(b, picked=_shifted(b.picked))),
        "the bonus token's bracket, lower": (b, replace(b, picked=_lowered(b))),
        "the bonus token's p": (b, replace(b, token_p=0.0)),
        "an entropy beyond the bins'": (b, replace(b, entropies=(9999, *b.entropies[1:]))),
        "the step": (r, replace(r, step=r.step + 1)),
        "no number": (b, replace(b, picked=Bracket(before=float("nan"), total=1.0))),
    }


@pytest.mark.parametrize("what", sorted(_changes()))
def test_a_changed_number_no_longer_decides_the_same(what: str) -> None:
    before, after = _changes()[what]
    judged = Judge(_evidence())
    assert judged.faults(before) == ()
    assert judged.faults(after) != ()


def test_a_token_of_the_shared_first_row_follows_from_it() -> None:
    evidence = _evidence()
    first = evidence.rounds[0]
    assert first.picked is None
    for bent in (
        replace(first, token=_other(first.token)),
        replace(first, token_p=first.token_p / 2),
        replace(first, entropies=(first.entropies[0] + 1,)),
    ):
        assert Judge(evidence).faults(bent) == ("token",)


def _of_rows(*moved: float, drafts_first: bool = False) -> Capture:
    request = request_of(len(moved), 6, n_bins=BINS)
    return with_first_rows(request, moved, drafts_first=drafts_first)


@pytest.mark.parametrize("drafts_first", [False, True])
def test_each_trajectory_is_decided_by_its_own_first_row(drafts_first: bool) -> None:  # noqa: FBT001
    """A matrix product of another batch shape moves the last bits; all of them are kept."""
    evidence = condense(_of_rows(0.0, 1e-6, 0.0, 1e-6, 2e-6, drafts_first=drafts_first))
    assert [one.trajectories for one in evidence.other_firsts] == [(1, 3), (4,)]
    assert judge(evidence) == ()
    told = [r for r in evidence.rounds if r.step == 0 and r.trajectory in {1, 4}]
    rows = evidence.own_firsts()
    for r in told:
        row, entropy = rows[r.trajectory]
        if r.drafts:
            assert r.p[0] == row[r.drafts[0] - evidence.bin_start]
        else:
            assert (r.picked, r.token_p) == (None, row[r.token - evidence.bin_start])
        assert r.entropies[0] == entropy


def test_first_rows_too_far_apart_are_no_forecast_of_one_prompt() -> None:
    condense(_of_rows(0.0, 1.9e-4))
    for far in ((0.0, 1e-3), (0.0, 1e-6, 1e-3), (0.0, 1.5e-4, -1.5e-4)):
        with pytest.raises(CaptureError, match="apart, more than 2e-04"):
            condense(_of_rows(*far))


def test_a_first_row_of_another_trajectory_or_none_is_refused() -> None:
    evidence = condense(_of_rows(0.0, 1e-6, 2e-6, 0.0))
    one, two = evidence.other_firsts
    for bad in (
        (two, one),
        (one, one),
        (one, replace(two, row=one.row)),
        (replace(one, row=evidence.first_row), two),
        (replace(one, row=one.row[1:]), two),
        (replace(one, trajectories=()), two),
        (replace(one, trajectories=(0,)), two),
        (replace(one, trajectories=(2, 1)),),
        (one, replace(two, trajectories=(4,))),
    ):
        with pytest.raises(CaptureError, match="first rows do not fit"):
            replace(evidence, other_firsts=bad)
    swapped = (replace(one, row=two.row), replace(two, row=one.row))
    assert judge(replace(evidence, other_firsts=swapped)) != ()
    assert judge(replace(evidence, other_firsts=())) != ()


def test_the_tables_drafts_follow_from_its_rows() -> None:
    evidence = condense(_table(), TABLE)
    r = next(r for r in evidence.rounds if r.drafts)
    judged = Judge(evidence, TABLE)
    other = replace(r, drafts=(*r.drafts[:-1], _other(r.drafts[-1])))
    moved = replace(r, states=(*r.states[:-1], (r.states[-1] + 1) % 5))
    assert judged.faults(r) == ()
    assert judged.faults(other) != ()
    assert judged.faults(moved) != ()
    with pytest.raises(CaptureError, match="no state"):
        judged.faults(replace(r, states=(*r.states[:-1], 5)))
    for table in (None, make_table([hopeless_row(BINS)] * 5)):
        with pytest.raises(CaptureError, match="table"):
            judge(evidence, table)


def test_what_cannot_be_kept_is_refused() -> None:
    for bad in (
        replace(_network(), greedy=True),
        replace(_network(), rounds=()),
        replace(_network(), seeds=tuple(s + 1 for s in _network().seeds)),
    ):
        with pytest.raises(CaptureError):
            condense(bad)
    with pytest.raises(CaptureError, match="table"):
        condense(_table())
    evidence = _evidence()
    for rounds in (evidence.rounds[1:], evidence.rounds[::-1]):
        with pytest.raises(CaptureError, match="out of order"):
            encode_evidence(replace(evidence, rounds=rounds))


@pytest.mark.parametrize(
    "change",
    [
        {"first_row": (0.5,)},
        {"row_digests": ()},
        {"table_digest": "00"},
        {"seeds": (1,)},
        {"bin_start": 1000},
        {"spec_k": 1},
        {"drafter": DrafterKind.NONE},
        {"first_row": (float("nan"),) * BINS},
        {"first_row": (1.5,) * BINS},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_cannot_be_put_together(change: dict[str, object]) -> None:
    with pytest.raises(CaptureError):
        replace(_evidence(), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"accepted": -1},
        {"accepted": 5},
        {"p": ()},
        {"q": ()},
        {"q_picks": ()},
        {"states": (1,)},
        {"token_q": None},
        {"picked": None},
        {"outcome": RoundOutcome.BONUS},
        {"outcome": RoundOutcome.PLAIN},
        {"plain_reason": PlainReason.FIRST_TOKEN},
        {"truncated": 9},
        {"entropies": ()},
        {"step": -1},
    ],
    ids=str,
)
def test_a_round_that_does_not_fit_together_cannot_be_made(change: dict[str, object]) -> None:
    with pytest.raises(CaptureError, match="does not fit together"):
        replace(_rejected(), **change)  # type: ignore[arg-type]
