"""How the prompt's pass ends where the first token is drafted, and what a sibling saves."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from inference.engine.flight import Flight
from tests.doubles.small_vllm import small_vllm

PROMPT = 143
DRAFTS = (201, 202, 203, 204)


@pytest.fixture(scope="module")
def door() -> Iterator[SimpleNamespace]:
    """Our modules over the small vLLM."""
    with small_vllm() as modules:
        yield modules


def _flight(**changed: Any) -> Flight:  # noqa: ANN401 - any field
    fields = {
        "key": "r/0",
        "index": 0,
        "seed": 1,
        "spec_k": 4,
        "n_tokens": 10,
        "greedy": False,
        "table_base": 0,
        "drafts_first": True,
        "group": "r",
    }
    return Flight(**{**fields, **changed})


def _request(door: SimpleNamespace, status: str = "WAITING", **changed: Any) -> Any:  # noqa: ANN401
    fields = {
        "request_id": "r/0-x",
        "status": door.look_ahead_scheduler.RequestStatus[status],
        "num_prompt_tokens": PROMPT,
        "num_computed_tokens": 0,
        "num_output_tokens": 0,
        "is_finished": lambda: False,
        "spec_token_ids": [],
    }
    return SimpleNamespace(**{**fields, **changed})


def _scheduler(door: SimpleNamespace, flight: Flight, *, shares: bool = False) -> Any:  # noqa: ANN401
    scheduler = door.look_ahead_scheduler.LookAheadScheduler()
    shared = door.prompt_sharing.SharedPrompts(door.prompt_sharing.BlockCopies())
    scheduler.deck = SimpleNamespace(
        of=lambda _request: flight, ids_of=list, shared=shared if shares else None
    )
    scheduler.schedule()
    return scheduler


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
def test_a_prompts_pass_ends_before_its_last_token_while_drafts_are_unknown(
    door: SimpleNamespace, *, computed: int, new: int, first: bool, produced: int, kept: int
) -> None:
    """Only where the first token is drafted, and only a pass that would reach the prompt's end."""
    scheduler = _scheduler(door, _flight(drafts_first=first, produced=produced))
    cut = scheduler._reserve_prefill_lookahead(_request(door), computed, new)  # noqa: SLF001 - vLLM's hook
    assert cut == kept


@pytest.mark.parametrize(
    ("status", "computed", "new", "kept"),
    [
        ("WAITING", 128, 15, 19),  # the drafts run in the prompt's pass
        ("WAITING", 0, 143, 147),
        ("WAITING", 142, 5, 5),  # vLLM has left room for them
        ("WAITING", 0, 100, 100),  # the prompt does not end in this pass
        ("RUNNING", 128, 15, 14),  # a prompt in several passes drafts after the last but one
        ("PREEMPTED", 0, 143, 142),
    ],
)
def test_drafts_that_are_known_run_in_the_prompts_pass(
    door: SimpleNamespace, status: str, computed: int, new: int, kept: int
) -> None:
    scheduler = _scheduler(door, _flight(first_drafts=DRAFTS))
    request = _request(door, status)
    assert scheduler._reserve_prefill_lookahead(request, computed, new) == kept  # noqa: SLF001 - vLLM's hook


def test_a_pass_without_room_leaves_the_drafts_to_the_next(door: SimpleNamespace) -> None:
    """400 tokens: two prompts of 143 with four drafts, and a third in part."""
    scheduler = _scheduler(door, _flight(first_drafts=DRAFTS))
    taken = [scheduler._reserve_prefill_lookahead(_request(door), 0, n) for n in (143, 143, 106)]  # noqa: SLF001 - vLLM's hook
    assert taken == [147, 147, 106]
    scheduler.schedule()
    taken = [scheduler._reserve_prefill_lookahead(_request(door), 0, n) for n in (143, 143, 100)]  # noqa: SLF001 - vLLM's hook
    last = scheduler._reserve_prefill_lookahead(_request(door), 138, 5)  # noqa: SLF001 - vLLM's hook
    assert (taken, last) == ([147, 147, 100], 4)


@pytest.mark.parametrize(
    ("drafts", "scheduled", "given", "kept", "spec"),
    [
        (DRAFTS, 19, {}, 19, list(DRAFTS)),
        (DRAFTS[:2], 5, {"r": [-1] * 4}, 3, list(DRAFTS[:2])),  # room for four, two are due
        ((), 5, {"r": [-1] * 4}, 1, None),  # a look-ahead of 0
        (DRAFTS, 14, {}, 14, None),  # the pass ends before the last token
        (DRAFTS, 5, {"r": [7, 8, 9, 10]}, 5, [7, 8, 9, 10]),  # drafts of a pass before
    ],
)
def test_the_first_drafts_take_the_place_of_padding(
    door: SimpleNamespace,
    *,
    drafts: tuple[int, ...],
    scheduled: int,
    given: dict[str, list[int]],
    kept: int,
    spec: list[int] | None,
) -> None:
    scheduler = _scheduler(door, _flight(first_drafts=drafts))
    request = _request(door, num_computed_tokens=142 if scheduled < 14 else 128)
    scheduler.requests = {"r": request}
    out = SimpleNamespace(
        num_scheduled_tokens={"r": scheduled},
        total_num_scheduled_tokens=scheduled + 100,
        scheduled_spec_decode_tokens=dict(given),
        kv_cache_block_copies=None,
    )
    before = request.num_computed_tokens
    scheduler._update_after_schedule(out)  # noqa: SLF001 - vLLM's hook
    assert out.num_scheduled_tokens == {"r": kept}
    assert out.total_num_scheduled_tokens == kept + 100
    assert out.scheduled_spec_decode_tokens.get("r") == spec
    assert request.num_computed_tokens == before + kept


def test_a_sibling_starts_at_the_prompts_last_token(door: SimpleNamespace) -> None:
    """It gets the blocks of the one that computes the prompt, as long as that one runs."""
    scheduler = _scheduler(door, _flight(), shares=True)
    blocks = SimpleNamespace(blocks=(["b0", "b1", "b2", "b3", "b4", "b5"],))
    scheduler.kv_cache_manager = SimpleNamespace(
        get_blocks=lambda rid: blocks if rid == "first" else None,
        create_kv_cache_blocks=lambda groups: groups,
    )
    first, second = _request(door, request_id="first"), _request(door, request_id="second")
    look = scheduler._get_local_prefix_cache_hit  # noqa: SLF001 - vLLM's hook
    assert look(second)[1] == 0  # nothing has been offered
    scheduler._reserve_prefill_lookahead(first, 0, 143)  # noqa: SLF001 - vLLM's hook
    assert look(second)[1] == 0  # offered, but it was not scheduled in the end
    first.status = door.look_ahead_scheduler.RequestStatus.RUNNING
    assert look(second) == ((["b0", "b1", "b2", "b3", "b4"],), 142, 0, False)
    second.status = door.look_ahead_scheduler.RequestStatus.PREEMPTED
    assert look(second)[1] == 0  # it has tokens of its own
    second.status = door.look_ahead_scheduler.RequestStatus.WAITING
    first.is_finished = lambda: True
    assert look(second)[1] == 0


def test_a_copied_block_holds_the_siblings_prompt_and_its_own_new_token(
    door: SimpleNamespace,
) -> None:
    """Also where both write in the same pass, as every layer does before attention reads."""
    attention = door.prompt_sharing.cpu_attn.CPUAttentionBackendImpl
    copies = door.prompt_sharing.BlockCopies()
    door.prompt_sharing.install(copies)
    cache = torch.zeros(4, 1, 4, 2)
    key = torch.arange(1.0, 5.0).reshape(4, 1, 1)  # three tokens of the first, one of the second
    slots = torch.tensor([4, 5, 6, 10])  # block 1, places 0 to 2; block 2, place 2
    copies.set([(1, 2)])
    attention().do_kv_cache_update(None, key, key * 10, cache, slots)
    assert cache[1, 0, :, 0].tolist() == [1.0, 2.0, 3.0, 0.0]
    assert cache[2, 0].tolist() == [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [0.0, 0.0]]
    copies.set([])
    attention().do_kv_cache_update(None, key[:1], key[:1], cache, torch.tensor([4]))
    assert cache[2, 0, 1].tolist() == [2.0, 20.0]  # no copy after that pass


@pytest.mark.parametrize(("computed", "drafts"), [(142, [1, 2, 3, 4]), (100, [])])
def test_drafts_of_a_prompts_pass_are_kept_only_at_its_end(
    door: SimpleNamespace, computed: int, drafts: list[int]
) -> None:
    scheduler = _scheduler(door, _flight())
    request = _request(door, num_computed_tokens=computed)
    scheduler.requests = {"a": request}
    proposed = SimpleNamespace(req_ids=["a", "gone"], draft_token_ids=[[1, 2, 3, 4], [9]])
    scheduler.update_draft_token_ids(proposed)
    assert request.spec_token_ids == drafts
