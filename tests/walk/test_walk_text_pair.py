"""A pair of text models, pinned by the command, through the real engine and the whole walk.

One run serves all tests of this file. The models have random weights: the forecasts mean nothing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.installation.children.postgres import EmbeddedPostgres
from inference.codec.text.answer import Grammar, read_answer
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.totals import paths, totals
from inference.weights.registry import load_pair, load_table
from tests.doubles.programs import ROOT
from tests.doubles.text_folder import text_folder

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(900)]
DECISIONS = 2
HORIZON = 4


@dataclass(frozen=True)
class World:
    """A pinned folder, and a state in which it forecast."""

    pair: Path
    state: Path

    def countersign(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in a process of its own, with the text pair."""
        own = {
            "COUNTERSIGN_ENGINE__MODEL": str(self.pair),
            "COUNTERSIGN_ENGINE__DRAFTER": "network",
            "COUNTERSIGN_ENGINE__PATHS": "16",
            "COUNTERSIGN_ENGINE__HORIZON": str(HORIZON),
            "COUNTERSIGN_ENGINE__DEADLINE_S": "120",  # on a busy machine the first pass is slow
            "COUNTERSIGN_POLICY": "first",
            "COUNTERSIGN_API__PORT": "0",
        }
        return subprocess.run(
            [sys.executable, "-m", "gateway.cli", *words],
            cwd=ROOT,
            env={**os.environ, **own, **environment},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )


@pytest.fixture(scope="module")
def world(module_state: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    pair = text_folder(tmp_path_factory.mktemp("models") / "tiny")
    found = World(pair, module_state)
    pinned = found.countersign("models", "pin", str(pair), "--trained-until", "2017-12-31")
    assert pinned.returncode == 0, pinned.stdout + pinned.stderr
    assert load_pair(pair).manifest_digest in pinned.stdout
    state = str(module_state)
    done = found.countersign("run", "--decisions", str(DECISIONS), "--exit", "--state", state)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine     ready: tiny" in done.stdout
    return found


@pytest.fixture(scope="module")
def reader(world: World) -> Iterator[LedgerReader]:
    server = EmbeddedPostgres(world.state)
    found = LedgerReader(server.start())
    yield found
    found.close()
    server.stop()


def test_every_answer_is_in_the_grammar_and_recomputes(world: World, reader: LedgerReader) -> None:
    pair = load_pair(world.pair)
    table, grammar = load_table(pair), None
    forecasts = 0
    for record in reader.records(kinds=(Kind.ROUNDS_CAPTURED,)):
        data = reader.blob(record.body["capture_blob"])
        assert data is not None
        capture = decode_evidence(data)
        assert judge(capture, table) == ()
        assert totals(capture).accepted > 0
        grammar = Grammar.of_capture(capture.bin_start, capture.n_bins)
        assert grammar is not None
        for path in paths(capture):
            assert len(read_answer(grammar.text_of(path))) == HORIZON
        forecasts += 1
    assert forecasts >= DECISIONS
    made = [r.body["forecast"] for r in reader.records(kinds=(Kind.FORECAST_MADE,))]
    assert {one["model_digest"] for one in made} == {pair.manifest_digest}
    assert {one["horizon"] for one in made} == {HORIZON}


def test_the_prompts_words_are_on_record(reader: LedgerReader) -> None:
    asked = [r.body["prompt"] for r in reader.records(kinds=(Kind.FORECAST_REQUESTED,))]
    assert {prompt["template"] for prompt in asked} == {"text-codec-1"}
    for prompt in asked:
        assert prompt["text"].endswith('{"returns":["')
        assert "Past values, oldest first:" in prompt["text"]


def test_a_decision_replays_and_is_sampled_again_to_the_same_bits(
    world: World, reader: LedgerReader
) -> None:
    decision = next(s for s in sorted(reader.streams("decision/")) if s.endswith("SPXN"))
    name = decision.removeprefix("decision/")
    done = world.countersign("replay", name, "--engine", "--state", str(world.state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "regenerated from the weights" in done.stdout
    assert "16 of 16" in done.stdout
    assert "probabilities follow from the 20 likeliest ids" in done.stdout
    shown = world.countersign("show", name, "--state", str(world.state))
    assert shown.returncode == 0, shown.stderr
    blobs = json.loads(shown.stdout)["blobs"].values()
    answers = [
        path["answer"]
        for blob in blobs
        if isinstance(blob, dict) and "trajectories" in blob
        for path in blob["trajectories"]
    ]
    assert answers
    assert all(len(read_answer(one)) == HORIZON for one in answers)
    page = world.countersign("replay", "--all", "--state", str(world.state))
    assert page.returncode == 0, page.stdout + page.stderr
