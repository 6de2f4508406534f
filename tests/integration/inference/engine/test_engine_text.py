"""The real engine with a text pair: drafts stay in the grammar, and the record decides."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gateway.errors import ReplayDiffersError
from gateway.evidence.fairness.swaps import RecordedPrompt, SwapFile, swap_report
from gateway.evidence.replay.engine import again
from gateway.evidence.replay.weights import RowQuestion, regenerated
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import VECTOR_CAPS, EngineChildConfig
from inference.codec.text.answer import read_answer
from inference.codec.text.codec import TextCodec
from inference.engine.port import EngineConfig, SampleRequest, Samples
from inference.engine.self_test import golden_snapshot
from inference.forecast.target import sample_target
from inference.speculation.condense import condense
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import DrafterKind
from inference.speculation.seeds import trajectory_seeds
from inference.speculation.top_rows import check_heads
from inference.weights.registry import ModelPair, load_table
from inference.weights.text_pair import codec_for, pin
from tests.doubles.market_cases import news_at
from tests.doubles.text_folder import text_folder

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

HORIZON = 5
SEED = b"a text model".ljust(32)
SEEDS = trajectory_seeds(SEED, 24)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> ModelPair:
    return pin(text_folder(tmp_path_factory.mktemp("models") / "tiny"), date(2017, 12, 31))


@contextmanager
def engine_of(pair: ModelPair, state: Path, drafter: DrafterKind) -> Iterator[EngineChild]:
    config = EngineChildConfig(
        engine=EngineConfig(model_dir=str(pair.directory), drafter=drafter), state_dir=state
    )
    child = EngineChild(config)
    child.start()
    try:
        assert child.wait_ready(240.0), child.refusal
        yield child
    finally:
        child.stop()


def asked(codec: TextCodec, *, spec_k: int = 4, greedy: bool = False) -> SampleRequest:
    return SampleRequest(
        request_id=f"text-{spec_k}-{greedy}",
        prompt_ids=codec.encode(golden_snapshot()).token_ids,
        n_tokens=codec.tokens_for(HORIZON),
        seeds=SEEDS[:1] if greedy else SEEDS,
        spec_k=spec_k,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=120.0,
        greedy=greedy,
        draft_first=spec_k > 0,
    )


def check(samples: Samples, codec: TextCodec, pair: ModelPair) -> RowQuestion:
    """Hold samples to the grammar, the record to its numbers, and both to the weights."""
    table = load_table(pair)
    for path in samples.paths:
        assert len(read_answer(codec.grammar.text_of(path.tokens))) == HORIZON
    evidence = condense(samples.capture, table)
    assert judge(decode_evidence(encode_evidence(evidence)), table) == ()
    heads = check_heads(decode_evidence(encode_evidence(evidence)), codec.alphabet.id_of)
    assert heads.faults == ()
    assert heads.rows == HORIZON * 4 * len(SEEDS)
    assert 0 < heads.borne_out <= heads.rows
    prompt = codec.encode(golden_snapshot())
    forecast = sample_target(
        evidence,
        codec=codec,
        prompt=prompt,
        snapshot=golden_snapshot(),
        seed=SEED,
        table=table,
        model_digest=pair.manifest_digest,
        capture_digest="",
    ).forecast
    assert forecast.horizon == HORIZON
    question = RowQuestion(
        name="own",
        evidence=evidence,
        prompt_ids=prompt.token_ids,
        model_digest=pair.manifest_digest,
    )
    assert "regenerated from the weights" in regenerated(question, pair)
    return question


@pytest.mark.parametrize("drafter", [DrafterKind.NETWORK, DrafterKind.TABLE, DrafterKind.NONE])
def test_a_text_pair_forecasts_and_its_record_recomputes(
    pair: ModelPair, tmp_path: Path, drafter: DrafterKind
) -> None:
    codec = codec_for(pair)
    assert isinstance(codec, TextCodec)
    with engine_of(pair, tmp_path, drafter) as engine:
        spec_k = 0 if drafter is DrafterKind.NONE else 4
        samples = engine.sample(asked(codec, spec_k=spec_k))
        question = check(samples, codec, pair)
        drafted = [r for r in samples.capture.rounds if r.drafts]
        assert bool(drafted) == (drafter is not DrafterKind.NONE)
        if drafted:
            accepted = sum(r.accepted for r in drafted) / sum(len(r.drafts) for r in drafted)
            assert 0.3 < accepted < 1.0
        greedy = engine.sample(asked(codec, spec_k=spec_k, greedy=True))
        plain = engine.sample(asked(codec, spec_k=0, greedy=True))
        assert greedy.paths[0].tokens == plain.paths[0].tokens
        assert "24 of 24" in again(question, engine, load_table(pair))
        digests = (bytes(32), *question.evidence.row_digests[1:])
        rounded = replace(question.evidence, row_digests=digests)
        said = again(replace(question, evidence=rounded), engine, load_table(pair))
        assert "the same tokens: 24 of 24 trajectories, 23 of them with the same raw logits" in said
        other = replace(question, evidence=replace(rounded, seeds=rounded.seeds[::-1]))
        with pytest.raises(ReplayDiffersError, match=r"sampled again, \d+ of 24"):
            again(other, engine, load_table(pair))


def test_a_processor_without_avx_512_forecasts_too(
    pair: ModelPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older vector instructions sum in another order; no row needs to be the same for all paths."""
    for name, cap in zip(VECTOR_CAPS, ("avx2", "AVX2", "AVX2"), strict=True):
        monkeypatch.setenv(name, cap)
    codec = codec_for(pair)
    assert isinstance(codec, TextCodec)
    with engine_of(pair, tmp_path, DrafterKind.TABLE) as engine:
        assert engine.describe().versions["vectors"] == "AVX2"
        check(engine.sample(asked(codec)), codec, pair)


def test_names_in_a_headline_are_exchanged_and_sampled_again(
    pair: ModelPair, tmp_path: Path
) -> None:
    codec, table = codec_for(pair), load_table(pair)
    assert isinstance(codec, TextCodec)
    usual = golden_snapshot()
    snapshot = replace(usual, news=(news_at(usual.as_of_us, headline="Germany said no"),))
    request = replace(asked(codec), prompt_ids=codec.encode(snapshot).token_ids)
    swaps = SwapFile.model_validate(
        {
            "placebo": [["said", "told"]],
            "pairs": [
                {"attribute": "region", "terms": [["Germany", "France"]]},
                {"attribute": "issuer", "terms": [["Acme", "Other"]]},
            ],
        }
    )
    with engine_of(pair, tmp_path, DrafterKind.TABLE) as engine:
        recorded = RecordedPrompt(
            snapshot=snapshot,
            evidence=condense(engine.sample(request).capture, table),
            seed=SEED,
            model_digest=pair.manifest_digest,
        )
        report = swap_report(recorded, swaps, codec, table, engine)
    assert report["paths"] == len(SEEDS)
    assert report["identity"] == {"distance_1e8": 0, "flips": False, "p_value": "1/1"}
    assert report["placebo"]["distance_1e8"] > 0
    region, issuer = report["pairs"]
    assert region["result"] == "tested"
    assert issuer["result"] == "absent"
    assert not issuer["flagged"]
