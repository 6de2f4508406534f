from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path

import pytest

from gateway.feeds.sessions import load_playback
from gateway.surfaces.web.views.tokens import PATHS_PER_PAGE, SHADES, tokens_view
from inference.codec.codec import ReturnCodec
from inference.engine.port import SampleRequest
from inference.speculation.condense import condense
from inference.speculation.evidence import ENTROPY_SCALE, Evidence
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import QTable
from inference.weights.registry import read_table
from tests.doubles.row_engine import RowEngine

TABLE_FILE = Path(__file__).parents[5] / "inference" / "models" / "pair_v1" / "table.safetensors"


@pytest.fixture(scope="module")
def table() -> QTable:
    return read_table(TABLE_FILE.read_bytes())


@pytest.fixture(scope="module")
def capture(table: QTable) -> Evidence:
    codec = ReturnCodec()
    prompt = codec.encode(next(iter(load_playback().sessions(1))).snapshot)
    request = SampleRequest(
        request_id="tokens",
        prompt_ids=prompt.token_ids,
        n_tokens=10,
        seeds=tuple(range(100, 109)),
        spec_k=4,
        allowed_range=(codec.bin_start, codec.bin_start + codec.n_bins),
        deadline_s=1.0,
    )
    made = RowEngine(table=table, codec=codec).sample(request).capture
    return decode_evidence(encode_evidence(condense(made, table)))


def all_pages(capture: Evidence, table: QTable | None) -> Sequence[object]:
    pages = tokens_view(capture, table).pages
    return [path for page in range(pages) for path in tokens_view(capture, table, page).paths]


def test_every_trajectory_is_on_exactly_one_page(capture: Evidence, table: QTable) -> None:
    view = tokens_view(capture, table)
    assert view.pages == -(-len(capture.seeds) // PATHS_PER_PAGE)
    assert len(all_pages(capture, table)) == len(capture.seeds)


def test_counts_on_the_page_are_the_captures(capture: Evidence, table: QTable) -> None:
    view = tokens_view(capture, table)
    assert view.drafted == sum(len(r.drafts) for r in capture.rounds)
    assert view.accepted == sum(r.accepted for r in capture.rounds)
    assert 0 < view.accepted <= view.drafted
    assert view.rejected > 0


def test_shown_tokens_read_as_the_path_that_was_sampled(capture: Evidence, table: QTable) -> None:
    for path in tokens_view(capture, table).paths:
        shown = [
            chip.bin
            for round_ in path.rounds
            for chip in (*round_.drafts, round_.last)
            if chip.fate not in {"rejected", "discarded"} and not chip.beyond
        ]
        sampled = [
            token - capture.bin_start
            for r in capture.rounds
            if r.trajectory == path.number
            for token in r.emitted
        ]
        assert len(shown) == 10
        assert shown == sampled


def test_an_accepted_draft_shows_a_draw_below_p_over_q(capture: Evidence, table: QTable) -> None:
    decided = 0
    for path in tokens_view(capture, table).paths:
        for chip in (c for r in path.rounds for c in r.drafts):
            if chip.fate == "discarded":
                assert chip.p is None
                continue
            assert chip.p is not None
            assert chip.q is not None
            assert chip.u is not None
            assert (chip.u <= chip.p / chip.q) == (chip.fate == "accepted")
            decided += 1
    assert decided > 0


def test_a_changed_probability_shows_as_a_fault(capture: Evidence, table: QTable) -> None:
    at = next(i for i, r in enumerate(capture.rounds) if r.accepted)
    bent = replace(capture.rounds[at], p=(0.0, *capture.rounds[at].p[1:]))
    rounds = (*capture.rounds[:at], bent, *capture.rounds[at + 1 :])
    assert tokens_view(capture, table).faults == 0
    assert tokens_view(replace(capture, rounds=rounds), table).faults > 0


def test_without_the_table_nothing_claims_to_be_checked(capture: Evidence) -> None:
    view = tokens_view(capture, None)
    assert view.checked is None
    assert all(c.q is None for p in view.paths for r in p.rounds for c in r.drafts)


def test_a_page_outside_the_range_shows_the_nearest(capture: Evidence, table: QTable) -> None:
    assert tokens_view(capture, table, 999).page == tokens_view(capture, table).pages - 1
    assert tokens_view(capture, table, -5).page == 0


@pytest.mark.parametrize(
    ("share", "shade"),
    [(0.0, 0), (0.5, 0), (0.75, 0), (0.77, 1), (0.85, 2), (0.93, 3), (0.99, 4), (1.0, 4)],
)
def test_an_uncertain_row_is_shaded_deeper(
    capture: Evidence, table: QTable, share: float, shade: int
) -> None:
    nats = int(share * log(capture.n_bins) * ENTROPY_SCALE)
    rounds = tuple(replace(r, entropies=(nats,) * len(r.entropies)) for r in capture.rounds)
    shown = tokens_view(replace(capture, rounds=rounds), table)
    assert {one.last.shade for path in shown.paths for one in path.rounds} == {shade}
    assert shade < SHADES


def test_where_the_drafter_was_overruled_is_told_by_bar(capture: Evidence, table: QTable) -> None:
    view = tokens_view(capture, table)
    assert [bar.bar for bar in view.bars] == list(range(view.bars[0].bar, 10))
    assert 0 < sum(bar.rejected for bar in view.bars) <= view.rejected
    assert all(0.0 <= bar.excess <= 1.0 for bar in view.bars)
    assert tokens_view(capture, None).bars == ()
