"""The engine double of the campaigns gives captures of the shipped pair."""

from gateway.installation.settings import EngineSettings
from inference.engine.port import EngineConfig, SampleRequest
from inference.speculation.rounds import disagreements
from inference.speculation.seeds import trajectory_seeds
from inference.speculation.totals import paths
from inference.weights.registry import load_pair
from tests.doubles.direct_cases import CODEC, SEED, table_of, wordless
from tests.doubles.table_engine import TableEngine

SHIPPED = EngineSettings().model
PATHS, STEPS = 8, 10


def test_its_captures_recompute_from_the_shipped_table_and_every_draft_is_accepted() -> None:
    _, prompt = wordless()
    engine, table = TableEngine(EngineConfig(model_dir=str(SHIPPED))), table_of(SHIPPED.name)
    asked = SampleRequest(
        request_id="a",
        prompt_ids=prompt.token_ids,
        n_tokens=CODEC.tokens_for(STEPS),
        seeds=trajectory_seeds(SEED, PATHS),
        spec_k=4,
        allowed_range=(CODEC.bin_start, CODEC.bin_start + CODEC.n_bins),
        deadline_s=1.0,
        draft_first=True,
    )
    engine.begin(asked)
    assert engine.load().tokens_left == asked.size
    found = engine.step()["a"]
    assert not isinstance(found, str)
    assert disagreements(found.capture, table) == ()
    assert {len(one) for one in paths(found.capture)} == {STEPS}
    for one in found.capture.rounds:
        assert one.accepted == len(one.drafts)
        at = prompt.token_ids + paths(found.capture)[one.trajectory][: one.step]
        assert one.p_rows[0] == table.row(CODEC.table_state(at)), "the target's own row"


def test_it_serves_as_the_shipped_pair() -> None:
    described = TableEngine(EngineConfig(model_dir=str(SHIPPED))).describe()
    assert described.model_digest == load_pair(SHIPPED).manifest_digest
    assert described.table_digest == table_of(SHIPPED.name).digest
    assert described.codec_digest == CODEC.digest
    assert described.self_test.passed
