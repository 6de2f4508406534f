"""A prompt's pass ends before its last token where the first token is drafted."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from inference.engine.flight import Flight
from tests.doubles.small_vllm import small_vllm


@pytest.fixture(scope="module")
def door() -> Iterator[SimpleNamespace]:
    """Our modules over the small vLLM."""
    with small_vllm() as modules:
        yield modules


@pytest.mark.parametrize(
    ("computed", "new", "first", "produced", "kept"),
    [
        (0, 143, True, 0, 142),
        (128, 15, True, 0, 14),
        (142, 1, True, 0, 1),
        (142, 5, True, 0, 5),
        (0, 100, True, 0, 100),
        (0, 143, False, 0, 143),
        (128, 15, True, 3, 15),
    ],
)
def test_a_prompts_pass_ends_before_its_last_token(
    door: SimpleNamespace, *, computed: int, new: int, first: bool, produced: int, kept: int
) -> None:
    """Only where the first token is drafted, and only a pass that would reach the prompt's end."""
    flight = Flight(
        key="a",
        index=0,
        seed=1,
        spec_k=4,
        n_tokens=10,
        greedy=False,
        table_base=0,
        drafts_first=first,
        produced=produced,
    )
    scheduler = door.capture_adapter.LookAheadScheduler()
    scheduler.deck = SimpleNamespace(of=lambda _request: flight)
    request = SimpleNamespace(num_prompt_tokens=143)
    cut = scheduler._reserve_prefill_lookahead(request, computed, new)  # noqa: SLF001 - vLLM's hook
    assert cut == kept


@pytest.mark.parametrize(("computed", "drafts"), [(142, [1, 2, 3, 4]), (100, [])])
def test_drafts_of_a_prompts_pass_are_kept_only_at_its_end(
    door: SimpleNamespace, computed: int, drafts: list[int]
) -> None:
    flight = Flight(
        key="a",
        index=0,
        seed=1,
        spec_k=4,
        n_tokens=10,
        greedy=False,
        table_base=0,
        drafts_first=True,
    )
    scheduler = door.capture_adapter.LookAheadScheduler()
    scheduler.deck = SimpleNamespace(of=lambda _request: flight)
    request = SimpleNamespace(
        num_prompt_tokens=143,
        num_computed_tokens=computed,
        is_finished=lambda: False,
        spec_token_ids=[],
    )
    scheduler.requests = {"a": request}
    proposed = SimpleNamespace(req_ids=["a", "gone"], draft_token_ids=[[1, 2, 3, 4], [9]])
    scheduler.update_draft_token_ids(proposed)
    assert request.spec_token_ids == drafts
