"""The real engine: the first bar drafted too, and a news twin in the batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from gateway.evidence.replay.engine import again
from gateway.evidence.replay.weights import RowQuestion
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.walk.sampled.news import sampled_beside
from inference.codec.codec import ReturnCodec
from inference.engine.port import EngineConfig, SampleRequest, Samples
from inference.engine.self_test import golden_snapshot
from inference.speculation.capture import encode_capture
from inference.speculation.condense import condense
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import (
    DrafterKind,
    DraftRound,
)
from inference.speculation.seeds import trajectory_seeds
from inference.weights.regeneration import ROW_TOLERANCE, compare, rows_of
from inference.weights.registry import load_pair, load_table
from tests.doubles.market_cases import news_at

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

PAIR = Path(__file__).parents[4] / "inference" / "models" / "pair_v1"
CODEC = ReturnCodec()
BINS = (CODEC.bin_start, CODEC.bin_start + CODEC.n_bins)
SEEDS = trajectory_seeds(b"real engine".ljust(32), 32)
KEPT_SEEDS = trajectory_seeds(b"kept".ljust(32), 64)
LIMIT_BYTES = 64_000


@contextmanager
def _engine(
    state: Path, pair: Path, drafter: DrafterKind, fault: str = ""
) -> Iterator[EngineChild]:
    child = EngineChild(
        EngineChildConfig(
            engine=EngineConfig(model_dir=str(pair), drafter=drafter),
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


def test_the_first_bar_is_drafted_too(table_engine: EngineChild) -> None:
    """Every trajectory begins with a drafted round, which the record and the weights bear out.

    The first rows are equal to the bit, because all 32 last tokens of the prompt run in one pass
    of a width whose matrix products round alike; the record does not need it.
    """
    pair = load_pair(PAIR)
    table = load_table(pair)
    request = replace(_request("first bar"), draft_first=True)
    samples = table_engine.sample(request)
    first = [r for r in samples.capture.rounds if r.step == 0]
    assert [len(r.drafts) for r in first] == [4] * 32
    assert 0 < sum(r.accepted == 0 for r in first) < 32
    assert {r.p_rows[0] for r in first} == {first[0].p_rows[0]}
    state = CODEC.table_state(request.prompt_ids)
    assert {r.q_states[0] for r in first} == {state}
    evidence = condense(samples.capture, table)
    assert judge(decode_evidence(encode_evidence(evidence)), table) == ()
    found = compare(evidence, rows_of(evidence, request.prompt_ids, pair), table)
    assert found.faults == ()
    assert found.row_gap < ROW_TOLERANCE
    question = RowQuestion(
        name="own",
        evidence=evidence,
        prompt_ids=request.prompt_ids,
        model_digest=pair.manifest_digest,
    )
    assert "32 of 32" in again(question, table_engine, table)


def test_a_drafted_first_bar_is_the_same_alone_and_among_others(table_engine: EngineChild) -> None:
    """Also with the prompt in the cache or not, and beside requests that draft otherwise."""
    prompts = {
        bars: replace(_request(f"{bars}", bars=bars), draft_first=True) for bars in (151, 152)
    }
    together: dict[int, Samples] = {}

    def ask(bars: int) -> None:
        together[bars] = table_engine.sample(prompts[bars])

    threads = [Thread(target=ask, args=(bars,)) for bars in prompts]
    for thread in threads:
        thread.start()
    table_engine.sample(_request("otherwise", bars=153))
    for thread in threads:
        thread.join()
    for bars, request in prompts.items():
        cached = table_engine.sample(replace(request, request_id="again"))
        assert encode_capture(cached.capture) == encode_capture(together[bars].capture)
        for index in (0, 17, 31):
            own = replace(request, request_id="alone", seeds=SEEDS[index : index + 1])
            assert _of(table_engine.sample(own), 0) == _of(together[bars], index)


def test_a_drafted_first_bar_follows_the_targets_law(table_engine: EngineChild) -> None:
    """Chi-square of 4,096 first bars against the row itself, in 32 cells of about equal mass."""
    seeds = trajectory_seeds(b"first bars".ljust(32), 4_096)
    places: list[int] = []
    row = np.zeros(0)
    for start in range(0, len(seeds), 1_024):
        request = _request(f"law-{start}", seeds[start : start + 1_024], tokens=2)
        samples = table_engine.sample(replace(request, draft_first=True))
        row = np.array(samples.first_row)
        rounds = [r for r in samples.capture.rounds if r.step == 0]
        assert all(r.drafts for r in rounds)
        places += [path.tokens[0] - BINS[0] for path in samples.paths]
    cells = np.searchsorted(np.arange(1, 32) / 32, np.cumsum(row) - row / 2)
    expected = np.bincount(cells, weights=row, minlength=32) / row.sum() * len(seeds)
    counted = np.bincount(cells[places], minlength=32)
    chi_square = float(((counted - expected) ** 2 / expected).sum())
    assert chi_square < 61.1  # 31 degrees of freedom: one in a thousand is above


@pytest.mark.parametrize("draft_first", [True, False], ids=["drafted", "plain"])
def test_a_prompt_of_whole_blocks_and_one_token_is_served(
    table_engine: EngineChild, *, draft_first: bool
) -> None:
    """Of 51, 83, 115 or 147 bars: vLLM would read all but its last token from the cache."""
    ids = _prompt(83)
    assert len(ids) % 32 == 1
    request = replace(_request("blocks"), prompt_ids=ids, draft_first=draft_first)
    samples = table_engine.sample(request)
    first = [r for r in samples.capture.rounds if r.step == 0]
    assert {bool(r.drafts) for r in first} == {draft_first}
    again_ = table_engine.sample(replace(request, request_id="blocks again"))
    assert encode_capture(again_.capture) == encode_capture(samples.capture)
    own = replace(request, request_id="blocks alone", seeds=SEEDS[17:18])
    assert _of(table_engine.sample(own), 0) == _of(samples, 17)


def test_a_news_twin_in_the_batch_changes_no_bit(table_engine: EngineChild) -> None:
    """With the forecast's own seeds, both at once, 64 trajectories; each is as it is alone.

    To the bit, because the bundled pairs are so narrow that a row's sum does not depend on how
    many rows are beside it. A large model's does in the last bits, and replay says so.
    """
    snapshot = golden_snapshot()
    told = replace(snapshot, news=(news_at(snapshot.as_of_us - 1),))
    blank = CODEC.encode_without_news(told)
    assert blank is not None
    assert CODEC.encode_without_news(snapshot) is None
    request = replace(_request("heard"), prompt_ids=CODEC.encode(told).token_ids)
    samples, beside = sampled_beside(table_engine, request, blank)
    assert isinstance(beside, Samples)
    twin = replace(request, request_id="blanked", prompt_ids=blank.token_ids)
    assert encode_capture(samples.capture) == encode_capture(table_engine.sample(request).capture)
    assert encode_capture(beside.capture) == encode_capture(table_engine.sample(twin).capture)
    assert beside.capture.seeds == samples.capture.seeds
    assert beside.first_row != samples.first_row
