"""Drafters: a table, a network or none, chosen when the engine starts.

The table drafts here, at almost no cost; the network drafts in the engine's own draft pass. Their
proposals have the same form in the capture. Neither sees a narrative word: the table's state holds
numbers only, and the network's embeddings of narrative ids are zero. Output is exact with any
drafter; only speed depends on it.

Draws come from the trajectory's seed, so a draft does not depend on what shares the batch.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from inference.codec.codec import ReturnCodec
from inference.engine.flight import Flight, Floats, pick_cumulative
from inference.speculation.rounds import DrafterKind, QTable
from inference.speculation.seeds import Purpose, token_draw

TABLE_PROPOSER = "inference.engine.capture_adapter.TableProposer"


class Drafter:
    """Proposes tokens for the target to verify; used by the engine's thread only.

    This base proposes none: plain decoding, one token at a time.
    """

    kind = DrafterKind.NONE
    table_digest = ""

    def engine_settings(self, spec_k: int) -> dict[str, Any] | None:
        """Return vLLM's speculative settings, or None for no speculation."""
        del spec_k
        return None

    def begin(self, prompt_ids: Sequence[int]) -> int:
        """Return the part of the drafter's state that a prompt fixes; 0 when there is none."""
        del prompt_ids
        return 0

    def before(self, prompt_ids: Sequence[int]) -> int:
        """Return the token that the first draft follows; 0 where that is the drafter's affair."""
        del prompt_ids
        return 0

    def start(self, flights: Sequence[Flight]) -> None:
        """Give new flights their first drafts, where they can be known before the prompt runs."""
        del flights


class NetworkDrafter(Drafter):
    """A one-layer network, which reads the prompt itself and draws from its own distribution."""

    kind = DrafterKind.NETWORK

    def __init__(self, model_dir: Path) -> None:
        self._model_dir = model_dir

    @override
    def engine_settings(self, spec_k: int) -> dict[str, Any] | None:
        """Return the draft-model settings.

        vLLM's default, "greedy", treats the draft as certain: on a flat distribution over 256 bins
        about 1 % of drafts would be accepted.
        """
        return {
            "method": "draft_model",
            "model": str(self._model_dir),
            "num_speculative_tokens": spec_k,
            "draft_sample_method": "probabilistic",
            "rejection_sample_method": "standard",
        }


class TableDrafter(Drafter):
    """A distilled table: class, frequency, volatility and last move select a row of 256 bins."""

    kind = DrafterKind.TABLE

    def __init__(self, table: QTable, codec: ReturnCodec) -> None:
        if table.n_states != codec.n_table_states or table.n_bins != codec.n_bins:
            raise ValueError(f"a table of {table.n_states} x {table.n_bins} is not this codec's")
        self.table_digest = table.digest
        self._codec = codec
        rows = np.frombuffer(table.rows, dtype="<f4").reshape(table.n_states, table.n_bins)
        self._cumulative = np.cumsum(rows, axis=1, dtype=np.float64)
        self.rows: Floats = np.ascontiguousarray(rows, dtype=np.float32)

    @override
    def engine_settings(self, spec_k: int) -> dict[str, Any] | None:
        """Return the settings of a custom proposer without a model."""
        return {
            "method": "custom_class",
            "model": TABLE_PROPOSER,
            "num_speculative_tokens": spec_k,
            "rejection_sample_method": "standard",
        }

    @override
    def begin(self, prompt_ids: Sequence[int]) -> int:
        return self._codec.table_base(prompt_ids)

    @override
    def before(self, prompt_ids: Sequence[int]) -> int:
        return self._codec.last_bin(prompt_ids)

    @override
    def start(self, flights: Sequence[Flight]) -> None:
        first = [flight for flight in flights if flight.look_ahead()]
        if not first:
            return
        k = max(flight.look_ahead() for flight in first)
        drafted = self.propose(first, [flight.before for flight in first], k)
        for flight, drafts in zip(first, drafted, strict=True):
            flight.first_drafts = tuple(drafts[: flight.look_ahead()])

    def propose(
        self, flights: Sequence[Flight], last_tokens: Sequence[int], k: int
    ) -> list[list[int]]:
        """Return k drafts for each flight, as recorded tokens; store their states in the flight."""
        newest = list(last_tokens)
        columns: list[list[int]] = []
        states: list[list[int]] = []
        for j in range(k):
            at = [
                self._codec.table_step(f.table_base, token)
                for f, token in zip(flights, newest, strict=True)
            ]
            sums = self._cumulative[at]
            if all(f.greedy for f in flights):
                bins = self.rows[at].argmax(axis=1)
            else:
                draws = [token_draw(f.seed, Purpose.DRAFT, f.produced, j) for f in flights]
                bins = pick_cumulative(sums, draws)
            newest = [int(b) + self._codec.bin_start for b in bins]
            columns.append(newest)
            states.append(at)
        for i, flight in enumerate(flights):
            flight.states = tuple(column[i] for column in states)
        return [[column[i] for column in columns] for i in range(len(flights))]
