"""The batched numpy path makes the same records as the plain one, and guards the sampler's rows."""

from collections.abc import Sequence

import numpy as np
import pytest

from inference.codec.alphabet import Alphabet
from inference.engine.flight import Flight, Floats, Step, pick_rows, softmax
from inference.engine.port import SampleRequest
from inference.speculation.rounds import (
    DraftRound,
    PlainReason,
    RoundOutcome,
    accepts,
    row_bytes,
    row_values,
)
from inference.speculation.seeds import Purpose, pick, token_draw
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    Row,
    draft_model,
    hopeless_row,
    request_of,
    target_model,
)

BINS = 32


def _flights(request: SampleRequest) -> list[Flight]:
    return [
        Flight(
            key=str(i),
            index=i,
            seed=seed,
            spec_k=request.spec_k,
            n_tokens=request.n_tokens,
            greedy=False,
            table_base=0,
        )
        for i, seed in enumerate(request.seeds)
    ]


def _batch_rounds(request: SampleRequest, draft: Row | None) -> list[DraftRound]:
    """Sample all trajectories together, step by step, as the engine's runner does."""
    target, q_of = target_model(BINS), draft_model(BINS)
    start = request.allowed_range[0]
    flights = _flights(request)
    newest = dict.fromkeys(range(len(flights)), request.prompt_ids[-1])
    while any(f.produced < f.n_tokens for f in flights):
        live = [f for f in flights if f.produced < f.n_tokens]
        counts, drafts, q_rows, p_rows = [], [], [], []
        for f in live:
            token = newest[f.index]
            n = f.look_ahead() if f.produced else 0
            counts.append(n)
            p_rows.append(target(token))
            for j in range(n):
                q = draft or q_of(token)
                token = start + pick(q, token_draw(f.seed, Purpose.DRAFT, f.produced, j))
                drafts.append(token)
                q_rows.append(q)
                p_rows.append(target(token))
        step = Step(live, counts, Alphabet.of_range(start, BINS))
        emitted = _reject(step, counts, drafts, p_rows, q_rows, start)
        logits = np.log(np.array(p_rows, dtype=np.float32))
        step.close(logits, emitted, drafts)
        for f, tokens in zip(live, emitted, strict=True):
            newest[f.index] = tokens[-1]
            assert f.fault == ""
    return [r for f in flights for r in f.rounds]


def _reject(
    step: Step,
    counts: Sequence[int],
    drafts: Sequence[int],
    p_rows: Sequence[Row],
    q_rows: Sequence[Row],
    start: int,
) -> list[list[int]]:
    """Accept and reject like the kernel, from what `Step` draws."""
    rows = np.array(p_rows, dtype=np.float32)
    last: list[int] = []
    tested: list[int] = []
    at = 0
    for n in counts:
        tested.extend(range(at, at + n))
        last.append(at + n)
        at += n + 1
    bonus = step.sample(rows[last])
    recovered: Sequence[int] = []
    if drafts:
        recovered = step.recover(rows[tested], np.array(q_rows, dtype=np.float32)).tolist()
    draws = step.accept_draws()
    emitted, s = [], 0
    for i, n in enumerate(counts):
        tokens: list[int] = []
        for j in range(s, s + n):
            bin_ = drafts[j] - start
            if not accepts(float(rows[tested[j]][bin_]), q_rows[j][bin_], float(draws[j])):
                tokens.append(int(recovered[j]))
                break
            tokens.append(drafts[j])
        else:
            tokens.append(int(bonus[i]))
        emitted.append(tokens)
        s += n
    return emitted


@pytest.mark.parametrize("draft", [None, hopeless_row(BINS)], ids=["fair draft", "hopeless draft"])
def test_a_batch_gives_the_same_tokens_and_rounds_as_one_by_one(draft: Row | None) -> None:
    request = request_of(12, 9)
    alone = ReferenceSampler(
        target=target_model(BINS), draft=(lambda _t: draft) if draft else draft_model(BINS)
    ).capture(request)
    together = _batch_rounds(request, draft)
    assert len(together) == len(alone.rounds)
    for one, other in zip(alone.rounds, together, strict=True):
        assert one.emitted == other.emitted
        assert (one.accepted, one.outcome, one.plain_reason) == (
            other.accepted,
            other.outcome,
            other.plain_reason,
        )
        assert (one.draws, one.p_rows, one.q_rows) == (other.draws, other.p_rows, other.q_rows)
    if draft:
        assert PlainReason.DRAFTS_REJECTED in {r.plain_reason for r in together}
    else:
        assert RoundOutcome.BONUS in {r.outcome for r in together}


def test_rows_are_picked_as_in_plain_python() -> None:
    rows = np.array([target_model(BINS)(t) for t in range(200)], dtype=np.float32)
    rows[:, 5:9] = 0.0
    draws = [token_draw(s, Purpose.SAMPLE, 0) for s in range(200)]
    draws[0], draws[1] = 1.0, 0.0
    plain = [pick(row_values(row_bytes(tuple(r))), d) for r, d in zip(rows, draws, strict=True)]
    assert pick_rows(rows, draws).tolist() == plain


def _one_plain_step(used: Floats, logits: Floats) -> Flight:
    flight = _flights(request_of(1, 4, spec_k=0))[0]
    step = Step([flight], [0], Alphabet.of_range(128, len(used)))
    token = int(step.sample(used[None])[0])
    step.close(logits[None], [[token]], [])
    return flight


def test_a_sampler_that_uses_other_rows_than_the_target_is_noticed() -> None:
    logits = np.linspace(-1.0, 1.0, BINS, dtype=np.float32)
    assert _one_plain_step(softmax(logits), logits).fault == ""
    assert (
        "away from the target"
        in _one_plain_step(softmax(np.asarray(logits / 2, dtype=np.float32)), logits).fault
    )


def test_logits_that_are_not_finite_are_noticed() -> None:
    logits = np.linspace(-1.0, 1.0, BINS, dtype=np.float32)
    bad = logits.copy()
    bad[3] = np.nan
    flight = _one_plain_step(softmax(logits), bad)
    assert flight.fault == "the target's logits are not finite"
    assert flight.rounds == []
