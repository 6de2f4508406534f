"""Trajectories of one request compute their common prompt once.

vLLM's prefix cache shares whole blocks only, so each of n trajectories would compute the rest of
the prompt again: half of all rows of a short forecast. Here the first trajectory computes it, and
the others start at the prompt's last token with a copy of the block in which it ends. They may run
in the very same pass: every layer writes its keys and values, copies the block, and writes again
what the copy covered, before attention reads. The numbers are the same; only repetition goes.

Not here: who shares with whom (`capture_adapter.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from vllm.v1.attention.backends import cpu_attn
from vllm.v1.request import RequestStatus


class BlockCopies:
    """Copies that every layer makes during the step in progress; one per engine."""

    def __init__(self) -> None:
        self._sources: torch.Tensor | None = None
        self._targets: torch.Tensor | None = None

    def set(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Take the step's copies: (from block, to block)."""
        if not pairs:
            self._sources = self._targets = None
            return
        self._sources = torch.tensor([source for source, _ in pairs])
        self._targets = torch.tensor([target for _, target in pairs])

    def after_write(
        self,
        write: Callable[..., None],
        layer: Any,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,  # [blocks, heads, block size, 2 * head size]
        slots: torch.Tensor,
    ) -> None:
        """Write a layer's keys and values, and copy blocks where the step asks for it."""
        write(layer, key, value, kv_cache, slots)
        if self._sources is not None and self._targets is not None:
            kv_cache.index_copy_(0, self._targets, kv_cache.index_select(0, self._sources))
            write(layer, key, value, kv_cache, slots)


def install(copies: BlockCopies) -> None:
    """Make the attention layers of this process copy blocks as told."""
    original = cpu_attn.CPUAttentionBackendImpl.do_kv_cache_update

    def update(layer_impl: Any, *args: Any) -> None:
        copies.after_write(lambda *given: original(layer_impl, *given), *args)

    cpu_attn.CPUAttentionBackendImpl.do_kv_cache_update = update


class SharedPrompts:
    """Which trajectories have a request's prompt in their blocks; the engine's thread only."""

    def __init__(self, copies: BlockCopies) -> None:
        self.copies = copies
        self._offered: dict[str, dict[str, Any]] = {}

    def offer(self, group: str, request: Any) -> None:
        """Say that after this pass a sequence has its whole prompt but the last token."""
        self._offered.setdefault(group, {})[request.request_id] = request

    def sibling(self, group: str) -> Any:
        """Return a sequence of the group that runs, or None."""
        offered = self._offered.get(group, {})
        for rid in list(offered):
            request = offered[rid]
            if request.is_finished():
                del offered[rid]
            elif request.status is RequestStatus.RUNNING:
                return request
        return None

    def forget(self, group: str) -> None:
        """Drop a group that has ended."""
        self._offered.pop(group, None)
