"""vLLM's scheduler with a look-ahead for each trajectory, drafted first tokens and shared prompts.

vLLM loads it by name. It decides what runs in a pass, never what is sampled.
"""

from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import RequestStatus

from inference.engine.capture_adapter import Deck
from inference.engine.flight import Flight


class LookAheadScheduler(Scheduler):
    """Schedules the deck's flights."""

    deck: Deck
    _room = 0  # tokens that this pass may still take

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        """Count a pass's room, schedule it."""
        self._room = self.max_num_scheduled_tokens
        return super().schedule(*args, **kwargs)

    def _get_local_prefix_cache_hit(self, request: Any) -> Any:
        """Start a trajectory at its prompt's last token where a sibling has computed the rest.

        vLLM then copies the block in which the prompt ends, as for its own partial hits.
        """
        flight, shared = self.deck.of(request), self.deck.shared
        if flight is None or shared is None or request.status is not RequestStatus.WAITING:
            return super()._get_local_prefix_cache_hit(request)
        sibling = shared.sibling(flight.group)
        if sibling is None:
            return super()._get_local_prefix_cache_hit(request)
        computed = request.num_prompt_tokens - 1
        blocks = self.kv_cache_manager.get_blocks(sibling.request_id).blocks
        used = [list(group[: -(-computed // self.block_size)]) for group in blocks]
        return self.kv_cache_manager.create_kv_cache_blocks(tuple(used)), computed, 0, False

    def _reserve_prefill_lookahead(self, request: Any, computed: int, new: int) -> int:
        """Let the first drafts run in the pass in which the prompt ends.

        Where they are not known yet, end the prompt's pass before its last token instead; that one
        then runs with them. vLLM calls this to cut a pass for the sake of its drafter.
        """
        new = super()._reserve_prefill_lookahead(request, computed, new)
        flight = self.deck.of(request)
        if flight is not None and not flight.produced:
            end = computed + new
            if self.deck.shared is not None and end >= request.num_prompt_tokens - 1:
                self.deck.shared.offer(flight.group, request)
            if flight.drafts_first and end == request.num_prompt_tokens:
                new = self._with_drafts(request, flight, new)
        self._room -= new
        return new

    def _with_drafts(self, request: Any, flight: Flight, new: int) -> int:
        n = len(flight.first_drafts)
        if n and request.status is RequestStatus.WAITING and new + n <= self._room:
            return new + n
        return new - 1 if new > 1 else new

    def _update_after_schedule(self, scheduler_output: Any) -> None:
        """Put the first drafts where vLLM padded, or left room for them."""
        out = scheduler_output
        for rid, n in list(out.num_scheduled_tokens.items()):
            request = self.requests[rid]
            flight = self.deck.of(request)
            if flight is None or flight.produced or request.num_output_tokens:
                continue
            drafted = request.num_computed_tokens + n - request.num_prompt_tokens
            padded = -1 in out.scheduled_spec_decode_tokens.get(rid, ())
            if drafted <= 0 or (rid in out.scheduled_spec_decode_tokens and not padded):
                continue
            drafts = self.deck.ids_of(flight.first_drafts)
            if drafts:
                out.scheduled_spec_decode_tokens[rid] = drafts
            else:
                out.scheduled_spec_decode_tokens.pop(rid, None)
            out.num_scheduled_tokens[rid] -= drafted - len(drafts)
            out.total_num_scheduled_tokens -= drafted - len(drafts)
        if self.deck.shared is not None:
            copies = out.kv_cache_block_copies or ()
            self.deck.shared.copies.set([(c.src_block_id, c.dst_block_id) for c in copies])
            out.kv_cache_block_copies = None  # each layer makes them; a source may be of this pass
        super()._update_after_schedule(out)

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:
        """Cut each trajectory's drafts to its look-ahead."""
        super().update_draft_token_ids(draft_token_ids)
        for rid, drafts in zip(
            draft_token_ids.req_ids, draft_token_ids.draft_token_ids, strict=True
        ):
            request = self.requests.get(rid)
            if request is None or request.is_finished():
                continue
            flight = self.deck.of(request)
            if flight is None:
                continue
            if flight.drafts_first and flight.produced == 0:  # vLLM drops a prompt's drafts
                whole = request.num_computed_tokens + 1 == request.num_prompt_tokens
                request.spec_token_ids = list(drafts)[: flight.look_ahead()] if whole else []
            else:
                request.spec_token_ids = request.spec_token_ids[: flight.look_ahead()]
