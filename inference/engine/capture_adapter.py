"""Subclasses of vLLM's classes, which vLLM loads by name; they see every step.

vLLM makes all decisions; nothing here changes a probability.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.cpu_worker import CPUWorker

from inference.engine.drafters import Drafter, TableDrafter
from inference.engine.flight import Flight, Step, Witness
from inference.engine.prompt_sharing import SharedPrompts
from inference.engine.sampling_fix import Draws

KEY = "countersign"


class Deck:
    """Every trajectory in progress, for runner and scheduler; the engine's thread only."""

    def __init__(self, drafter: Drafter, draws: Draws) -> None:
        self.drafter = drafter
        self.draws = draws
        self.keep_rounds = True
        self.flights: dict[str, Flight] = {}
        self.witness: Witness | None = None  # set during the self-test only
        self.shared: SharedPrompts | None = None  # None: every trajectory computes its own prompt

    def ids_of(self, tokens: Sequence[int]) -> list[int]:
        """Return the vocabulary ids of recorded tokens."""
        return [self.draws.alphabet.id_of(token) for token in tokens]

    def of(self, request: Any) -> Flight | None:
        """Return the flight of a vLLM request, or None when it is not ours."""
        params = request.sampling_params
        extra = (params.extra_args or {}) if params is not None else {}
        return self.flights.get(extra.get(KEY, ""))


class CaptureRunner(CPUModelRunner):
    """vLLM's CPU runner; hands the rows of each sampling step to `flight.py`."""

    deck: Deck

    def _sample(self, logits: Any, metadata: Any) -> Any:
        flights = self._flights()
        if flights is None:
            return super()._sample(logits, metadata)
        draws = self.deck.draws
        counts = [0] * len(flights) if metadata is None else list(metadata.num_draft_tokens)
        step = Step(flights, counts, draws.alphabet)
        raw = logits[:, draws.columns].float().numpy().copy()  # the sampler changes logits in place
        heads = draws.heads(logits, step.masks) if self.deck.keep_rounds else []
        draws.forbid(logits, step.masks)  # only the symbols may be sampled
        draws.step = step
        try:
            out = super()._sample(logits, metadata)
        finally:
            draws.step = None
        skipped = self.discard_request_mask.np[: len(flights)]
        emitted = [
            [] if skip else [token for token in row if token >= 0]
            for row, skip in zip(out.sampled_token_ids.tolist(), skipped, strict=True)
        ]
        drafts = [] if metadata is None else metadata.draft_token_ids.tolist()
        step.close(
            raw,
            emitted,
            drafts,
            keep_rounds=self.deck.keep_rounds,
            witness=self.deck.witness,
            heads=heads,
        )
        return out

    def propose_draft_token_ids(
        self, scheduler_output: Any, sampled_token_ids: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the drafts: the table's, or those of vLLM's own pass with seeded draws."""
        flights = self._flights()
        drafter = self.deck.drafter
        if flights is not None and isinstance(drafter, TableDrafter):
            alphabet = self.deck.draws.alphabet
            last = [
                alphabet.token_at(flight.produced - 1, tokens[-1]) if tokens else flight.before
                for flight, tokens in zip(flights, sampled_token_ids, strict=True)
            ]
            furthest = max(flight.look_ahead() for flight in flights)
            drafted = drafter.propose(flights, last, min(furthest, self.num_spec_tokens))
            return [self.deck.ids_of(tokens) for tokens in drafted]
        draws = self.deck.draws
        draws.drafting, draws.draft_index = flights or [], 0
        try:
            return super().propose_draft_token_ids(
                scheduler_output, sampled_token_ids, *args, **kwargs
            )
        finally:
            draws.drafting = []

    def _get_spec_decode_draft_probs(self, metadata: Any) -> Any:
        flights = self._flights()
        drafter = self.deck.drafter
        if flights is None or not isinstance(drafter, TableDrafter):
            return super()._get_spec_decode_draft_probs(metadata)
        states = [
            state
            for flight, n in zip(flights, metadata.num_draft_tokens, strict=True)
            for state in flight.states[:n]
        ]
        full = torch.zeros(len(states), self.model_config.get_vocab_size(), dtype=torch.float32)
        rows = torch.from_numpy(drafter.rows[np.array(states, dtype=int)])
        columns = self.deck.draws.columns
        if isinstance(columns, slice):
            full[:, columns] = rows
        else:  # of the symbols that are one id, a row has mass at one at most
            full.index_add_(1, torch.from_numpy(columns), rows)
        return full

    def _flights(self) -> list[Flight] | None:
        """Return the batch's flights, or None in a dummy pass."""
        flights = [self.deck.of(self.requests[rid]) for rid in self.input_batch.req_ids]
        found = [flight for flight in flights if flight is not None]
        return found if found and len(found) == len(flights) else None


class CaptureWorker(CPUWorker):
    """vLLM's CPU worker with our runner."""

    def init_device(self) -> None:
        """Let vLLM build the runner, then change its class."""
        super().init_device()
        self.model_runner.__class__ = CaptureRunner


class TableProposer:
    """The proposer named in the engine's settings; the runner drafts before vLLM asks it."""

    def __init__(self, vllm_config: Any) -> None:
        self._vllm_config = vllm_config

    def load_model(self, target_model: Any) -> None:
        """Load nothing: the table is in the drafter."""
        del target_model

    def propose(self, *args: Any, **kwargs: Any) -> list[list[int]]:
        """Return no drafts; vLLM asks in a dummy pass only."""
        del kwargs
        return [[] for _ in args[0]]
