"""Our door to vLLM: seeded draws, the rows that were used, and only what was asked for.

The engine below is small, but its hooks are those of the real one (`tests/doubles/small_vllm.py`);
tests/integration/inference/engine/test_engine_real.py asks the real one the same.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from inference.codec.alphabet import Alphabet
from inference.codec.codec import ReturnCodec
from inference.engine.flight import Flight, Step
from inference.engine.port import EngineConfig, SampleRequest, Samples
from inference.engine.self_test import golden_prompt
from inference.errors import EngineDeadlineError, EngineError, EngineRefusedError, RegistryError
from inference.speculation.rounds import DrafterKind, PlainReason, disagreements, row_values
from inference.speculation.seeds import Purpose, accept_draw, pick, token_draw
from inference.speculation.totals import paths, totals
from inference.weights.registry import TABLE, load_pair, load_table
from tests.doubles.reference_sampler import ReferenceSampler, Row, request_of
from tests.doubles.small_vllm import DRAFT, TARGET, VOCAB, Bigrams, Given, small_vllm

PAIR = Path(__file__).parents[4] / "inference" / "models" / "pair_v1"
CODEC = ReturnCodec()
BINS = slice(CODEC.bin_start, CODEC.bin_start + CODEC.n_bins)


@contextmanager
def opened() -> Iterator[SimpleNamespace]:
    """Our modules over the small vLLM, with the engines that were made of them."""
    with pytest.MonkeyPatch.context() as environment, small_vllm() as modules:
        environment.setenv("VLLM_CPU_ATTN_SPLIT_KV", "0")
        modules.engines = {}
        yield modules


@pytest.fixture(scope="module")
def door() -> Iterator[SimpleNamespace]:
    """Our modules, and engines that tests share: each leaves them idle."""
    with opened() as modules:
        yield modules


@pytest.fixture(name="fresh")
def freshly_loaded() -> Iterator[SimpleNamespace]:
    with opened() as modules:
        yield modules


def engine_of(door: SimpleNamespace, kind: DrafterKind, **changes: Any) -> Any:  # noqa: ANN401 - its type is loaded anew for each door
    """An engine with the shipped pair's manifest and table."""
    config = EngineConfig(model_dir=str(PAIR), drafter=kind, **changes)
    if config not in door.engines:
        door.engines[config] = door.vllm_engine.VllmEngine(config, import_ms=12)
    engine = door.engines[config]
    assert not engine.busy
    return engine


def asked(n: int = 6, tokens: int = 11, **changes: Any) -> SampleRequest:  # noqa: ANN401 - any field
    """A request over the codec's bins."""
    given: dict[str, Any] = {"deadline_s": 60.0, **changes}
    return replace(request_of(n, tokens, n_bins=256), **given)


def row_after(logits: torch.Tensor, token: int) -> Row:
    """The law of the next token over the bins, in the order of operations of an engine."""
    masked = torch.full((VOCAB,), float("-inf"))
    masked[BINS] = logits[token][BINS]
    return tuple(masked.softmax(-1, dtype=torch.float32)[BINS].tolist())


def reference(kind: DrafterKind, request: SampleRequest) -> Any:  # noqa: ANN401 - a capture
    """What plain Python samples from the same rows and seeds."""
    draft = (lambda token: row_after(DRAFT, token)) if kind is DrafterKind.NETWORK else None
    return ReferenceSampler(target=lambda token: row_after(TARGET, token), draft=draft).capture(
        request
    )


@pytest.mark.parametrize("kind", [DrafterKind.NETWORK, DrafterKind.NONE])
def test_an_engine_makes_the_record_that_plain_python_makes(
    door: SimpleNamespace, kind: DrafterKind
) -> None:
    engine = engine_of(door, kind)
    assert (engine.self_test.detail, engine.self_test.passed) == ("ok", True)
    request = asked()
    samples = engine.sample(request)
    wanted = reference(kind, request)
    blank = [replace(r, logits_digest=b"") for r in samples.capture.rounds]
    assert blank == [replace(r, logits_digest=b"") for r in wanted.rounds]
    assert replace(samples.capture, rounds=()) == replace(wanted, rounds=())
    assert [p.tokens for p in samples.paths] == list(paths(samples.capture))
    assert [p.seed for p in samples.paths] == list(request.seeds)
    assert samples.first_row == row_values(wanted.rounds[0].p_rows[0])
    assert samples.elapsed_us >= 0
    for r in samples.capture.rounds:
        path = (*request.prompt_ids, *paths(samples.capture)[r.trajectory])
        at = len(request.prompt_ids) + r.step
        before = (path[at - 1], *r.drafts)[: r.accepted + 1]
        raw = np.rint(TARGET[list(before)][:, BINS].numpy() * 1024).astype("<i4")
        assert r.logits_digest == hashlib.sha256(raw.tobytes()).digest()
    assert not engine.busy


def test_the_tables_drafts_are_verified_against_its_rows(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.TABLE)
    table = load_table(load_pair(PAIR))
    request = asked(prompt_ids=golden_prompt())
    capture = engine.sample(request).capture
    assert disagreements(capture, table) == ()
    assert (capture.table_digest, capture.spec_k) == (table.digest, 4)
    assert totals(capture).drafted > 0
    base = CODEC.table_base(request.prompt_ids)
    tokens = paths(capture)
    for r in capture.rounds:
        newest = tokens[r.trajectory][r.step - 1] if r.step else 0
        followed = [newest, *r.drafts][: len(r.drafts)]
        assert list(r.q_states) == [CODEC.table_step(base, token) for token in followed]
        assert (r.plain_reason is PlainReason.FIRST_TOKEN) == (r.step == 0)


@pytest.mark.parametrize("kind", DrafterKind)
def test_requests_in_one_batch_do_not_change_each_other(
    door: SimpleNamespace, kind: DrafterKind
) -> None:
    engine = engine_of(door, kind)
    one, other = asked(3, 9), asked(4, 6, request_id="other")
    alone = [engine.sample(request).capture for request in (one, other)]
    engine.begin(one)
    ended: dict[str, Any] = dict(engine.step())
    assert engine.busy
    engine.begin(other)
    while engine.busy:
        ended |= engine.step()
    assert [ended[request.request_id].capture for request in (one, other)] == alone


def test_an_aborted_request_leaves_nothing_behind_and_others_go_on(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NETWORK)
    one, other = asked(2, 30), asked(2, 5, request_id="other")
    expected = engine.sample(other)
    engine.begin(one)
    engine.begin(other)
    engine.step()
    assert engine.abort(one.request_id)
    assert not engine.abort(one.request_id)
    assert engine._llm.aborted[-2:] == [f"{one.request_id}/0", f"{one.request_id}/1"]  # noqa: SLF001 - what the engine holds
    assert set(engine._deck.flights) == {"other/0", "other/1"}  # noqa: SLF001 - what the engine holds
    done: dict[str, Any] = {}
    while engine.busy:
        done |= engine.step()
    assert list(done) == ["other"]
    assert done["other"].paths == expected.paths
    assert engine._deck.flights == {}  # noqa: SLF001 - what the engine holds
    engine.begin(one)  # its id is free again
    assert engine.abort(one.request_id)
    assert not engine.busy


def test_a_request_past_its_deadline_is_dropped(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NONE)
    with pytest.raises(EngineDeadlineError, match="after 1e-09 s"):
        engine.sample(asked(deadline_s=1e-9))
    assert not engine.busy
    assert isinstance(engine.sample(asked()), Samples)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"allowed_range": (128, 383)}, "bins"),
        ({"allowed_range": (127, 384)}, "bins"),
        ({"spec_k": 4}, "above 3"),
        ({"prompt_ids": (1, VOCAB)}, "vocabulary"),
        ({"prompt_ids": (1,) * (512 - 11 - 3 + 1)}, "exceed 512"),
    ],
)
def test_what_does_not_fit_the_engine_is_refused(
    door: SimpleNamespace, change: dict[str, Any], problem: str
) -> None:
    engine = engine_of(door, DrafterKind.NETWORK, spec_k=3)
    fits = asked(spec_k=3)
    with pytest.raises(EngineRefusedError, match=problem):
        engine.begin(replace(fits, **change))
    engine.begin(replace(fits, prompt_ids=(VOCAB - 1,) * (512 - 11 - 3)))
    with pytest.raises(EngineRefusedError, match="already running"):
        engine.begin(fits)
    assert engine.abort(fits.request_id)


def test_without_the_fix_an_engine_does_not_pass_its_own_test(fresh: SimpleNamespace) -> None:
    broken = engine_of(fresh, DrafterKind.NETWORK, fault="no_sampling_fix")
    assert not broken.self_test.passed
    assert "not carried to the drafts" in broken.self_test.detail
    assert "rows differ from the target's" in broken.self_test.detail
    with pytest.raises(EngineError, match="away from the target's"):
        broken.sample(asked())
    assert not broken.busy
    fine = engine_of(fresh, DrafterKind.NETWORK)
    assert fine.self_test.passed
    assert fine.self_test.mean_accepted > 0.0
    assert fine.self_test.positions == 160 * 8
    assert fine.self_test.row_error < 1e-6


def test_rows_that_are_not_the_weights_fail_the_engines_own_test(
    fresh: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Bigrams.rows
    monkeypatch.setattr(Bigrams, "rows", lambda *asked: [r * 1.0001 for r in right(*asked)])
    test = engine_of(fresh, DrafterKind.TABLE).self_test
    assert "sums of rows differ from the weights' by" in test.detail
    assert not test.passed


def test_an_engine_says_what_serves(door: SimpleNamespace) -> None:
    pair = load_pair(PAIR)
    table = engine_of(door, DrafterKind.TABLE, spec_k=2, max_trajectories=160).describe()
    assert (table.drafter, table.spec_k) == (DrafterKind.TABLE, 2)
    assert (table.model_id, table.model_digest) == (pair.model_id, pair.manifest_digest)
    assert (table.table_digest, table.codec_digest) == (pair.files[TABLE], CODEC.digest)
    assert (table.versions["vllm"], table.versions["attention_split"]) == ("small", "0")
    assert (table.start_ms["import"], table.self_test.passed) == (12, True)
    none = engine_of(door, DrafterKind.NONE)
    assert none.describe().table_digest == ""
    arguments = none._llm.arguments  # noqa: SLF001 - what the engine holds
    assert (arguments.speculative_config, arguments.dtype) == (None, "float32")
    assert (arguments.max_num_seqs, arguments.max_model_len) == (512, 512)
    given = (arguments.model, arguments.seed, arguments.kv_cache_memory_bytes)
    assert given == (str(pair.target), 0, 1 << 30)


def test_a_wrong_environment_or_a_pair_of_another_codec_is_refused(
    fresh: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(CODEC.__class__, "version", "return-codec-2")
    with pytest.raises(RegistryError, match="another codec"):
        engine_of(fresh, DrafterKind.NONE)
    monkeypatch.undo()
    monkeypatch.delenv("VLLM_CPU_ATTN_SPLIT_KV", raising=False)
    with pytest.raises(RegistryError, match="must be 0"):
        engine_of(fresh, DrafterKind.NONE)
    monkeypatch.setenv("VLLM_CPU_ATTN_SPLIT_KV", "0")
    config = EngineConfig(model_dir=str(tmp_path), drafter=DrafterKind.NONE)
    with pytest.raises(RegistryError, match="manifest"):
        fresh.vllm_engine.VllmEngine(config, import_ms=0)


def test_capture_switched_off_keeps_tokens_and_no_rounds(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NETWORK, capture=False)
    samples = engine.sample(asked())
    assert (samples.capture.rounds, samples.first_row) == ((), ())
    assert [p.tokens for p in samples.paths] == list(paths(reference(DrafterKind.NETWORK, asked())))


def test_output_that_differs_from_its_record_is_no_sample(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NONE)
    request = asked(2, 3)
    engine.begin(request)
    engine.step()
    engine._running[request.request_id].flights[1].rounds.clear()  # noqa: SLF001 - what the engine holds
    done: dict[str, Any] = {}
    while engine.busy:
        done |= engine.step()
    assert done == {request.request_id: "trajectory 1: the record and the output differ"}


def test_a_trajectory_whose_prompt_is_unfinished_gets_no_token(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NONE)
    request = asked(3, 5)
    engine.begin(request)
    skipped = engine._llm.runner.discard_request_mask.np  # noqa: SLF001 - what the engine holds
    skipped[1] = True
    engine.step()
    skipped[1] = False
    flights = [engine._deck.flights[f"{request.request_id}/{n}"] for n in range(3)]  # noqa: SLF001 - what the engine holds
    assert [(one.produced, len(one.rounds)) for one in flights] == [(1, 1), (0, 0), (1, 1)]
    assert engine.abort(request.request_id)


def test_greedy_tokens_are_the_largest_with_and_without_drafts(door: SimpleNamespace) -> None:
    for kind in DrafterKind:
        samples = engine_of(door, kind).sample(asked(1, 8, greedy=True))
        token, wanted = asked().prompt_ids[-1], []
        for _ in range(8):
            token = int(TARGET[token][BINS].argmax()) + BINS.start
            wanted.append(token)
        assert samples.paths[0].tokens == tuple(wanted)
        assert samples.capture.greedy


def flight(seed: int, produced: int = 3) -> Flight:
    """A trajectory in the middle of its answer."""
    return Flight(
        key=str(seed),
        index=0,
        seed=seed,
        spec_k=2,
        n_tokens=9,
        greedy=False,
        table_base=0,
        produced=produced,
    )


def test_draws_are_of_each_trajectorys_seed_and_place(door: SimpleNamespace) -> None:
    draws = door.sampling_fix.Draws(Alphabet.of_range(2, 3))
    p = torch.tensor([[0.0, 0, 0.2, 0.5, 0.3, 0], [0, 0, 0.6, 0.3, 0.1, 0]] * 2)[:3]
    q = torch.tensor([[0.0, 0, 0.5, 0.1, 0.4, 0], [0, 0, 0.1, 0.8, 0.1, 0]] * 2)[:3]
    ids = torch.tensor([2, 3, 4])
    given: list[Any] = [None, None, None, ids, q, p]
    for ask in (draws.uniform, draws.recovered, draws.sampled, draws.drafted):
        assert ask(lambda *args: ("theirs", args), 1, 2) == ("theirs", (1, 2))
    flights = [flight(5), flight(6, 4)]
    draws.step = Step(flights, [2, 1], draws.alphabet)
    places = [(5, 3, 0), (5, 3, 1), (6, 4, 0)]
    never = pytest.fail
    assert draws.uniform(never).tolist() == [accept_draw(*place) for place in places]
    chosen = draws.recovered(never, *given)
    rest = np.maximum((p - q).numpy(), 0)[:, 2:5]
    assert chosen.dtype == ids.dtype
    assert chosen.tolist() == [
        2 + pick(tuple(map(float, row)), token_draw(seed, Purpose.RECOVER, at, j))
        for row, (seed, at, j) in zip(rest, places, strict=True)
    ]
    assert draws.step.q_used is not None
    assert draws.step.q_used.tolist() == q[:, 2:5].tolist()
    draws.recovered(never, *given[:4], None, p)  # a draft without a law had all its mass on itself
    assert draws.step.q_used.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    logits = torch.tensor([[9.0, 9, 1, 2, 3, 9], [9, 9, 3, 1, 2, 9]])
    masked = logits.clone()
    masked[:, [0, 1, 5]] = float("-inf")
    law = masked.softmax(-1)[:, 2:5]
    tokens, _ = draws.sampled(never, masked)
    assert tokens.tolist() == [
        2 + pick(tuple(row.tolist()), token_draw(seed, Purpose.SAMPLE, at))
        for row, (seed, at) in zip(law, [(5, 3), (6, 4)], strict=True)
    ]
    draws.drafting, draws.draft_index = flights, 0
    for index in range(2):
        tokens, rows = draws.drafted(never, logits, None)
        assert rows[:, 2:5].tolist() == law.tolist()
        assert rows[:, [0, 1, 5]].sum() == 0.0
        assert tokens.tolist() == [
            2 + pick(tuple(row.tolist()), token_draw(seed, Purpose.DRAFT, at, index))
            for row, (seed, at) in zip(law, [(5, 3), (6, 4)], strict=True)
        ]


def test_each_value_is_repeated_once_per_draft(fresh: SimpleNamespace) -> None:
    fix = fresh.sampling_fix
    ends = torch.tensor([2, 2, 5], dtype=torch.int32)
    values = torch.tensor([0.0, 7.0, 2.0])
    assert fix.expand_batch_to_tokens(values, ends, 5).tolist() == [0, 0, 2, 2, 2]
    assert fix.expand_batch_to_tokens(values, ends, 5, 0, 9).tolist() == [9, 9, 2, 2, 2]
    assert values.tolist() == [0.0, 7.0, 2.0]
    assert not fix.expansion_is_right()
    fix.install_fix()
    assert fix.expansion_is_right()


def test_what_is_not_ours_is_left_to_the_engine(door: SimpleNamespace) -> None:
    adapter = door.capture_adapter
    deck = adapter.Deck(None, None)
    ours = flight(5)
    deck.flights["k"] = ours
    known, other = ({adapter.KEY: key} for key in ("k", "z"))
    for params, found in (
        (SimpleNamespace(extra_args=known), ours),
        (SimpleNamespace(extra_args=other), None),
        (SimpleNamespace(extra_args=None), None),
        (None, None),
    ):
        assert deck.of(SimpleNamespace(sampling_params=params)) is found
    proposer = adapter.TableProposer(None)
    proposer.load_model(None)
    assert proposer.propose([1, 2]) == [[], []]


def test_a_batch_with_a_stranger_in_it_goes_on_nobodys_record(door: SimpleNamespace) -> None:
    engine = engine_of(door, DrafterKind.NETWORK)
    llm, flights = engine._llm, engine._deck.flights  # noqa: SLF001 - what the engine holds
    engine.begin(asked(request_id="own"))
    params = vars(llm.runner.requests["own/0"].sampling_params) | {"extra_args": None}
    llm.add_request("z", {"prompt_token_ids": [5]}, Given(**params))
    engine.step()
    assert {(one.produced, len(one.rounds)) for one in flights.values()} == {(0, 0)}
    assert len(llm.runner.requests["z"].tokens) == 1
    llm.abort_request(["z"])
    assert engine.abort("own")
