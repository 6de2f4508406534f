"""The real engine: vLLM in its child, with the bundled pair."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.engine import again, sampled_again
from gateway.evidence.replay.weights import RowQuestion, regenerated
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from inference.codec.codec import ReturnCodec
from inference.engine.flight import MAX_MISSES
from inference.engine.port import EngineConfig, EngineState, SampleRequest, Samples
from inference.engine.self_test import MAX_WEIGHTS_GAP, golden_snapshot
from inference.errors import EngineDeadlineError, EngineRefusedError
from inference.speculation.capture import encode_capture
from inference.speculation.condense import condense
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import (
    DrafterKind,
    DraftRound,
    PlainReason,
    disagreements,
    row_bytes,
    row_values,
)
from inference.speculation.seeds import trajectory_seeds
from inference.speculation.totals import totals
from inference.weights.regeneration import ROW_TOLERANCE, Regeneration, compare, rows_of
from inference.weights.registry import MANIFEST, TABLE, load_pair, load_table

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

PAIR = Path(__file__).parents[4] / "inference" / "models" / "pair_v1"
CODEC = ReturnCodec()
BINS = (CODEC.bin_start, CODEC.bin_start + CODEC.n_bins)
SEEDS = trajectory_seeds(b"real engine".ljust(32), 32)
KEPT_SEEDS = trajectory_seeds(b"kept".ljust(32), 64)
MANY_SEEDS = trajectory_seeds(b"many".ljust(32), 600)
WAYS = ((True, 4), (False, 4), (False, 0), (True, 2))
"""Whether the first bar is drafted, and how many bars ahead."""
LIMIT_BYTES = 64_000


@contextmanager
def _engine(
    state: Path, pair: Path, drafter: DrafterKind, fault: str = "", *, shares: bool = True
) -> Iterator[EngineChild]:
    child = EngineChild(
        EngineChildConfig(
            engine=EngineConfig(
                model_dir=str(pair),
                drafter=drafter,
                share_prompts=shares,
                max_trajectories=512 if shares else 40,
            ),
            state_dir=state,
            fault=fault,
        )
    )
    child.start()
    try:
        yield child
    finally:
        child.stop()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-state")


@pytest.fixture(scope="module")
def table_engine(state: Path) -> Iterator[EngineChild]:
    with _engine(state, PAIR, DrafterKind.TABLE) as child:
        assert child.wait_ready(240.0), child.refusal
        yield child


def _prompt(bars: int = 200) -> tuple[int, ...]:
    snapshot = golden_snapshot()
    kept = snapshot.bars[:bars]
    return CODEC.encode(replace(snapshot, bars=kept, as_of_us=kept[-1].close_time_us)).token_ids


def _request(
    name: str, seeds: tuple[int, ...] = SEEDS, *, tokens: int = 10, bars: int = 200
) -> SampleRequest:
    return SampleRequest(
        request_id=name,
        prompt_ids=_prompt(bars),
        n_tokens=tokens,
        seeds=seeds,
        spec_k=4,
        allowed_range=BINS,
        deadline_s=300.0,
    )


def _of(samples: Samples, trajectory: int) -> list[DraftRound]:
    return [replace(r, trajectory=0) for r in samples.capture.rounds if r.trajectory == trajectory]


def test_it_serves_only_after_a_self_test_that_saw_enough(table_engine: EngineChild) -> None:
    described = table_engine.describe()
    assert described.self_test.passed
    assert described.self_test.positions > 1000
    assert described.self_test.row_error < 1e-6
    assert described.self_test.weights_gap < MAX_WEIGHTS_GAP / 2
    assert described.model_digest == load_pair(PAIR).manifest_digest
    assert described.versions["vllm"].startswith("0.32.0")


def test_every_accept_and_reject_recomputes(table_engine: EngineChild) -> None:
    samples = table_engine.sample(_request("recompute", tokens=16))
    counts = totals(samples.capture)
    assert counts.positions > 300
    assert disagreements(samples.capture, load_table(load_pair(PAIR))) == ()
    assert [p.tokens for p in samples.paths] == [
        tuple(t for r in samples.capture.rounds if r.trajectory == i for t in r.emitted)
        for i in range(32)
    ]


def test_same_seeds_give_the_same_bytes_again(table_engine: EngineChild) -> None:
    digests = {
        hashlib.sha256(encode_capture(table_engine.sample(_request(name)).capture)).hexdigest()
        for name in ("first", "second", "third")
    }
    assert len(digests) == 1


def test_a_trajectory_is_the_same_alone_and_among_others(table_engine: EngineChild) -> None:
    together = table_engine.sample(_request("together"))
    for index in (0, 17, 31):
        alone = table_engine.sample(_request(f"alone-{index}", SEEDS[index : index + 1]))
        assert _of(alone, 0) == _of(together, index)


def test_other_requests_in_the_batch_change_nothing(table_engine: EngineChild) -> None:
    quiet = encode_capture(table_engine.sample(_request("quiet")).capture)
    found: dict[str, Samples] = {}

    def ask(name: str, bars: int) -> None:
        found[name] = table_engine.sample(_request(name, bars=bars))

    threads = [
        Thread(target=ask, args=args) for args in (("a", 150), ("busy", 200), ("b", 90), ("c", 170))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert encode_capture(found["busy"].capture) == quiet


def test_a_shared_prompt_changes_no_bit(table_engine: EngineChild, state: Path) -> None:
    """Prompts that end in, at and just after a block; more trajectories than run at once.

    Rows may be compared bit by bit here: the bundled pairs are narrow, and the sums of their
    matrix products do not depend on the batch.
    """
    asked = [
        replace(
            _request(f"shared-{bars}-{len(seeds)}-{first}-{k}", seeds, bars=bars),
            draft_first=first,
            spec_k=k,
        )
        for bars, seeds, ways in (
            (200, MANY_SEEDS, ((True, 4), (False, 0))),
            *((bars, SEEDS, WAYS) for bars in (50, 51, 52)),
        )
        for first, k in ways
    ]
    shared = [encode_capture(table_engine.sample(one).capture) for one in asked]
    with _engine(state, PAIR, DrafterKind.TABLE, shares=False) as child:
        assert child.wait_ready(240.0), child.refusal
        assert [encode_capture(child.sample(one).capture) for one in asked] == shared


def test_greedy_tokens_are_those_of_plain_decoding(table_engine: EngineChild) -> None:
    for bars in (60, 100, 150, 200):
        greedy = replace(_request(f"greedy-{bars}", SEEDS[:1], bars=bars, tokens=24), greedy=True)
        plain = replace(greedy, request_id=f"plain-{bars}", spec_k=0)
        drafted, undrafted = table_engine.sample(greedy), table_engine.sample(plain)
        assert drafted.paths == undrafted.paths
        assert totals(undrafted.capture).drafted == 0 < totals(drafted.capture).drafted


def _rows_by_transformers(folder: Path, samples: Samples, trajectory: int) -> np.ndarray[Any, Any]:
    """Return softmax rows over the bins at every answer position, by another library."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt, tokens = _prompt(), samples.paths[trajectory].tokens
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *tokens]])).logits[0]
    rows = logits[len(prompt) - 1 : -1, BINS[0] : BINS[1]].softmax(-1)
    return np.asarray(rows.numpy())


def _recorded(samples: Samples, trajectory: int) -> dict[int, tuple[float, ...]]:
    return {
        r.step + j: row_values(row)
        for r in samples.capture.rounds
        if r.trajectory == trajectory
        for j, row in enumerate(r.p_rows)
    }


def _kept(samples: Samples) -> tuple[bytes, Regeneration]:
    """Return what the ledger would keep, and what the weights say of it."""
    pair = load_pair(PAIR)
    table = load_table(pair)
    data = encode_evidence(condense(samples.capture, table))
    evidence = decode_evidence(data)
    assert judge(evidence, table) == ()
    return data, compare(evidence, rows_of(evidence, _prompt(), pair), table)


def test_64_paths_of_20_steps_are_kept_in_64_kilobytes(table_engine: EngineChild) -> None:
    samples = table_engine.sample(_request("kept", KEPT_SEEDS, tokens=20))
    data, found = _kept(samples)
    assert len(data) < LIMIT_BYTES < len(encode_capture(samples.capture)) / 10
    assert found.faults == ()
    assert found.target_rows == 64 * 20
    assert found.row_gap < ROW_TOLERANCE / 5


def test_a_record_is_sampled_again_to_the_same_bits(table_engine: EngineChild) -> None:
    pair = load_pair(PAIR)
    table = load_table(pair)
    samples = table_engine.sample(_request("to be replayed"))
    question = RowQuestion(
        name="own",
        evidence=condense(samples.capture, table),
        prompt_ids=_prompt(),
        model_digest=pair.manifest_digest,
    )
    assert "32 of 32" in again(question, table_engine, table)
    digests = (b"\x00" * 32, *question.evidence.row_digests[1:])
    other = replace(question, evidence=replace(question.evidence, row_digests=digests))
    with pytest.raises(ReplayDiffersError, match=r"32 of 32 .* 31 the recorded logits"):
        again(other, table_engine, table)
    strange = replace(question, model_digest="0" * 64)
    assert sampled_again((strange,), pair, table) == (
        "not sampled again: the recorded weights are not at hand",
    )
    assert "not regenerated" in regenerated(strange, pair)
    assert "320 rows" in regenerated(question, pair)
    with pytest.raises(ReplayDiffersError, match="the weights give"):
        regenerated(replace(question, prompt_ids=_prompt(100)), pair)


@pytest.mark.filterwarnings("ignore")
def test_recorded_rows_are_the_targets_own(table_engine: EngineChild) -> None:
    samples = table_engine.sample(_request("rows", SEEDS[:4], tokens=16))
    for trajectory in range(4):
        other = _rows_by_transformers(PAIR / "target", samples, trajectory)
        recorded = _recorded(samples, trajectory)
        assert len(recorded) == 16
        for position, row in recorded.items():
            assert np.abs(other[position] - np.array(row)).max() < 1e-5


def test_a_missed_deadline_leaves_no_trace(table_engine: EngineChild) -> None:
    before = encode_capture(table_engine.sample(_request("before")).capture)
    with pytest.raises(EngineDeadlineError):
        table_engine.sample(replace(_request("missed", tokens=200), deadline_s=0.05))
    assert encode_capture(table_engine.sample(_request("after")).capture) == before
    assert table_engine.state is EngineState.READY


@pytest.mark.parametrize(
    "change",
    [{"spec_k": 5}, {"allowed_range": (0, 384)}, {"prompt_ids": (1, 384)}, {"n_tokens": 256}],
    ids=str,
)
def test_what_does_not_fit_is_refused(table_engine: EngineChild, change: dict[str, Any]) -> None:
    long = replace(_request(f"unfit-{change}"), prompt_ids=(_prompt() * 3)[:300])
    assert table_engine.sample(replace(long, request_id=f"fit-{change}", seeds=SEEDS[:1])).paths
    with pytest.raises(EngineRefusedError):
        table_engine.sample(replace(long, **change))


def test_a_narrative_word_changes_the_target_and_not_the_drafter(
    table_engine: EngineChild,
) -> None:
    plain = _request("without news", SEEDS[:8])
    words = list(plain.prompt_ids)
    words[131] = 72  # the first slot's event type: earnings instead of none
    news = replace(plain, request_id="with news", prompt_ids=tuple(words))
    without, with_news = table_engine.sample(plain), table_engine.sample(news)
    assert without.first_row != with_news.first_row
    assert CODEC.table_state(plain.prompt_ids) == CODEC.table_state(news.prompt_ids)


@pytest.mark.filterwarnings("ignore")
def test_the_network_drafts_from_its_own_rows_over_the_bins(state: Path) -> None:
    """With the first token out of the prompt's pass, and drafted as well."""
    calls = (
        _request("network", tokens=16),
        _request("network again", tokens=16),
        _request("network alone", SEEDS[7:8], tokens=16),
        _request("network kept", KEPT_SEEDS, tokens=20),
    )
    with _engine(state, PAIR, DrafterKind.NETWORK) as child:
        assert child.wait_ready(240.0), child.refusal
        plain = [child.sample(one) for one in calls]
        first = [child.sample(replace(one, draft_first=True)) for one in calls]
    for samples, again_, alone, kept in (plain, first):
        assert encode_capture(samples.capture) == encode_capture(again_.capture)
        assert _of(alone, 0) == _of(samples, 7)
        assert disagreements(samples.capture) == ()
        assert all(BINS[0] <= d < BINS[1] for r in samples.capture.rounds for d in r.drafts)
        data, found = _kept(kept)
        assert len(data) < LIMIT_BYTES
        assert found.faults == ()
        assert found.drafter_rows == totals(kept.capture).positions > 500
        other = _rows_by_transformers(PAIR / "draft", samples, 0)
        compared = 0
        for r in samples.capture.rounds:
            for j, row in enumerate(r.q_rows if r.trajectory == 0 else ()):
                assert np.abs(other[r.step + j] - np.array(row_values(row))).max() < 1e-4
                compared += 1
        assert compared > 5
    assert not any(r.drafts for r in plain[0].capture.rounds if r.step == 0)
    assert all(r.drafts for r in first[0].capture.rounds if r.step == 0)


def test_without_the_sampling_fix_it_refuses_to_serve(state: Path) -> None:
    with _engine(state, PAIR, DrafterKind.TABLE, fault="no_sampling_fix") as child:
        assert not child.wait_ready(240.0)
        assert child.state is EngineState.REFUSING
        assert "sampling parameters are not carried to the drafts" in child.refusal
        assert "rows differ from the target's" in child.refusal
        with pytest.raises(EngineRefusedError, match="self-test"):
            child.sample(_request("never"))
        described = child.describe()
    assert not described.self_test.passed


def test_an_engine_whose_numbers_are_not_the_weights_refuses_to_serve(state: Path) -> None:
    with _engine(state, PAIR, DrafterKind.TABLE, fault="rough_positions") as child:
        assert not child.wait_ready(240.0)
        assert "differ from the weights' by" in child.refusal
        assert child.describe().self_test.weights_gap > 2 * MAX_WEIGHTS_GAP


def _hopeless_pair(folder: Path) -> Path:
    """Copy the pair with a table that always proposes the outermost bin."""
    pair = folder / "hopeless"
    shutil.copytree(PAIR, pair)
    row = row_bytes(tuple(1.0 if b == CODEC.n_bins - 1 else 0.0 for b in range(CODEC.n_bins)))
    data = row * CODEC.n_table_states
    shape = [CODEC.n_table_states, CODEC.n_bins]
    header = json.dumps({"q": {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]}})
    table = len(header).to_bytes(8, "little") + header.encode() + data
    (pair / TABLE).write_bytes(table)
    manifest = json.loads((pair / MANIFEST).read_text())
    manifest["files"][TABLE] = hashlib.sha256(table).hexdigest()
    (pair / MANIFEST).write_text(json.dumps(manifest))
    return pair


def test_drafts_that_are_always_rejected_end_on_the_plain_path(state: Path, tmp_path: Path) -> None:
    pair = _hopeless_pair(tmp_path)
    with _engine(state, pair, DrafterKind.TABLE) as child:
        assert child.wait_ready(240.0), child.refusal
        assert child.describe().self_test.passed  # exact, however bad the draft
        samples = child.sample(_request("hopeless"))
    counts = totals(samples.capture)
    assert counts.accepted == 0
    assert counts.fallback_trajectories == tuple(range(32))
    reasons = {r.plain_reason for r in samples.capture.rounds}
    assert PlainReason.DRAFTS_REJECTED in reasons
    tried = Counter(r.trajectory for r in samples.capture.rounds if r.drafts)
    assert max(tried.values()) == MAX_MISSES  # what bad drafts may cost, in steps: no clock says it
    assert all(len(path.tokens) == 10 for path in samples.paths)
    assert disagreements(samples.capture, load_table(load_pair(pair))) == ()
