"""The default pair hears words: drafts rejected where they act, a twin that differs, a replay.

One run of sessions of January 2018 serves all tests of this file; some have news, some have none.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.walk.projections.forecasts import decision_records
from inference.speculation.evidence import Evidence, judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.weights.registry import load_pair, load_table
from tests.doubles.programs import FIRST_PARTS, ROOT

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(600)]
PAIR = ROOT / "inference" / "models" / "pair_v4"
DECISIONS = 14


def countersign(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command with the pair, policy and paths that a user has."""
    own = {k: v for k, v in os.environ.items() if k not in FIRST_PARTS}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *words],
        cwd=ROOT,
        env={**own, "COUNTERSIGN_API__PORT": "0", "COUNTERSIGN_ENGINE__PATHS": "128"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@dataclass(frozen=True)
class Decided:
    """One decision: what words did, and its capture with the twin's.

    A forecast that was drawn from the rows of its states has none.
    """

    name: str
    words: dict[str, Any]
    own: Evidence | None
    twin: Evidence | None


@pytest.fixture(scope="module")
def state(module_state: Path) -> Path:
    done = countersign(
        *("run", "--decisions", str(DECISIONS), "--exit", "--state", str(module_state))
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine     ready: pair_v4" in done.stdout
    return module_state


@pytest.fixture(scope="module")
def decisions(state: Path) -> Iterator[list[Decided]]:
    server = EmbeddedPostgres(state)
    reader = LedgerReader(server.start())
    yield [_decided(reader, one) for one in reader.records(kinds=(Kind.INTENT_PROPOSED,))]
    reader.close()
    server.stop()


def _decided(reader: LedgerReader, proposed: Any) -> Decided:  # noqa: ANN401 - a record
    name = proposed.stream.removeprefix("decision/")
    kinds = {one.kind: one.body for one in decision_records(reader, name)}
    own, twin = None, None
    if Kind.TOKENS_DRAWN not in kinds:
        sampled = reader.blob(kinds[Kind.ROUNDS_CAPTURED]["capture_blob"])
        assert sampled is not None
        own = decode_evidence(sampled)
    if Kind.NEWS_TWIN_MADE in kinds:
        kept = reader.blob(kinds[Kind.NEWS_TWIN_MADE]["capture_blob"])
        assert kept is not None
        twin = decode_evidence(kept)
    return Decided(name, proposed.body["words"], own, twin)


def _rejected(evidence: Evidence | None, steps: range) -> int:
    """Return how many drafts of these output positions were rejected."""
    assert evidence is not None
    return sum(
        one.accepted < len(one.drafts) and one.step + one.accepted in steps
        for one in evidence.rounds
    )


def test_drafts_are_rejected_only_where_words_were_heard(decisions: list[Decided]) -> None:
    heard = [one for one in decisions if one.words["result"] == "measured"]
    silent = [one for one in decisions if one.words["result"] == "no_news" and one.own]
    assert heard
    assert silent
    everywhere = range(1000)
    for one in silent:
        assert one.twin is None
        assert _rejected(one.own, everywhere) == 0
    for one in heard:
        assert one.twin is not None
        assert _rejected(one.twin, everywhere) == 0
    near = sum(_rejected(one.own, range(2)) for one in heard)
    far = sum(_rejected(one.own, range(8, 10)) for one in heard)
    assert near > 3 * far, "rejections lie near the tag"


def test_strong_news_widens_the_forecast_and_the_record_says_so(decisions: list[Decided]) -> None:
    heard = [one.words["difference"] for one in decisions if one.words["result"] == "measured"]
    assert max(one["step_vol_1e8"] / 1e8 for one in heard) > 0.0
    assert any(one["expected_1e8"] for one in heard)


def test_every_capture_is_judged_by_the_table(decisions: list[Decided]) -> None:
    table = load_table(load_pair(PAIR))
    assert {one.words["result"] for one in decisions if one.own is None} <= {"no_news"}
    for one in decisions:
        assert one.own is None or judge(one.own, table) == ()
        assert one.twin is None or judge(one.twin, table) == ()


def test_decisions_with_and_without_news_are_sampled_again_to_the_same_bits(
    state: Path, decisions: list[Decided]
) -> None:
    for result in ("measured", "no_news"):
        name = next(one.name for one in decisions if one.words["result"] == result and one.own)
        done = countersign("replay", name, "--engine", "--state", str(state))
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("news_twin_made" in done.stdout) == (result == "measured")
    done = countersign("replay", "--all", "--state", str(state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"REPLAYED {len(decisions)} of {len(decisions)}" in done.stdout
    assert json.dumps(done.stdout).count("differs") == 0
