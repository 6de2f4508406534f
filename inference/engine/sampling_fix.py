"""Changes to vLLM 0.32's sampler, and a check that the first is in place.

1. The fix. On CPU `expand_batch_to_tokens` writes its result into a converted copy and returns
   uninitialised memory, so with speculation every temperature is garbage and the tokens come from
   another distribution, silently. Source: vllm-project/vllm issue 55005.
2. The draws. Random numbers come from the trajectories' seeds (`seeds.py`) instead of torch
   generators, at the four places where the engine draws: drafts, accept tests, recovered tokens,
   bonus and plain tokens. vLLM's own code still compares and accepts.

Both replace attributes of vLLM's modules, once, in the engine child only; the fix goes in before
the engine is built.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import vllm.v1.sample.rejection_sampler as rejection
import vllm.v1.spec_decode.llm_base_proposer as proposer

from inference.codec.alphabet import Alphabet
from inference.engine.flight import Flight, Masks, Step, pick_rows
from inference.speculation.seeds import Purpose, token_draw
from inference.speculation.top_rows import NONE, K, top_bytes


class Draws:
    """The replacement functions and the step in progress that they serve; one per engine."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.columns = alphabet.columns
        self.step: Step | None = None
        self.drafting: list[Flight] = []
        self.draft_index = 0

    def uniform(self, original: Callable[..., Any], *args: Any) -> Any:
        """Return the accept draw of every draft of the step."""
        if self.step is None:
            return original(*args)
        return torch.from_numpy(self.step.accept_draws())

    def recovered(self, original: Callable[..., Any], *args: Any) -> Any:
        """Return the recovered token of every draft of the step, and keep the rows used."""
        if self.step is None:
            return original(*args)
        draft_ids, draft_probs, target_probs = args[3], args[4], args[5]
        p = target_probs[:, self.columns].numpy()
        if draft_probs is None:  # the draft was certain: q is one at the draft
            q = np.zeros_like(p)
            q[np.arange(len(q)), self.step.draft_bins(draft_ids.tolist())] = 1.0
        else:
            q = draft_probs[:, self.columns].numpy()
        return torch.from_numpy(self.step.recover(p, q)).to(draft_ids.dtype)

    def sampled(self, original: Callable[..., Any], logits: Any, *args: Any) -> Any:
        """Return the bonus or plain token of every request; `logits` are masked and scaled."""
        if self.step is None:
            return original(logits, *args)
        rows = logits.softmax(dim=-1, dtype=torch.float32)[:, self.columns].numpy()
        return torch.from_numpy(self.step.sample(rows)), None

    def drafted(self, original: Callable[..., Any], logits: Any, metadata: Any, *args: Any) -> Any:
        """Return the network's draft ids and their distribution, which covers the symbols only."""
        if not self.drafting:
            return original(logits, metadata, *args)
        masks = self.alphabet.masks([f.produced + self.draft_index for f in self.drafting])
        masked = logits.clone()
        self.forbid(masked, masks)
        rows = masked.softmax(dim=-1, dtype=torch.float32)
        cut = rows[:, self.columns].numpy()
        if masks is not None:
            cut = np.where(masks, cut, np.float32(0.0))
        draws = [
            token_draw(f.seed, Purpose.DRAFT, f.produced, self.draft_index) for f in self.drafting
        ]
        self.draft_index += 1
        return torch.from_numpy(self.alphabet.ids_of(pick_rows(cut, draws))), rows

    def heads(self, logits: Any, masks: Masks | None) -> list[bytes]:
        """Return each row's likeliest ids and its legal share, before `forbid`; [] without slots.

        A row with one legal symbol decides nothing and has no head.
        """
        if masks is None:
            return []
        found = [NONE] * len(masks)
        at = np.flatnonzero(masks.sum(axis=1) > 1)
        rows = logits[torch.from_numpy(at)].float().softmax(dim=-1)
        best = rows.topk(K, dim=-1)
        legal = np.where(masks[at], rows[:, self.columns].numpy(), 0.0).sum(axis=1)
        kept = zip(at, best.indices.tolist(), best.values.tolist(), legal, strict=True)
        for place, ids, p, left in kept:
            found[int(place)] = top_bytes(ids, p, float(left))
        return found

    def forbid(self, logits: Any, masks: Masks | None) -> None:
        """Set every logit to minus infinity whose id may not stand in its row, in place."""
        columns = self.columns
        if masks is None and isinstance(columns, slice):
            logits[:, : columns.start] = float("-inf")
            logits[:, columns.stop :] = float("-inf")
            return
        if masks is None:
            masks = np.ones((len(logits), self.alphabet.n), dtype=bool)
        rows, symbols = np.nonzero(masks)
        at = (torch.from_numpy(rows), torch.from_numpy(self.alphabet.ids_of(symbols)))
        kept = logits[at]
        logits.fill_(float("-inf"))
        logits[at] = kept


def install_fix() -> None:
    """Replace vLLM's broken `expand_batch_to_tokens`."""
    rejection.expand_batch_to_tokens = expand_batch_to_tokens


def install_draws(draws: Draws, sampler: Any) -> None:
    """Make the engine draw from seeds; the runner's `sampler` draws bonus and plain tokens."""

    def replace(owner: Any, name: str, by: Callable[..., Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, lambda *args, **_: by(original, *args))

    replace(rejection, "generate_uniform_probs", draws.uniform)
    replace(rejection, "sample_recovered_tokens", draws.recovered)
    replace(proposer, "compute_probs_and_sample_next_token", draws.drafted)
    replace(sampler.topk_topp_sampler, "forward", draws.sampled)


def expand_batch_to_tokens(
    x: torch.Tensor,
    cu_num_tokens: torch.Tensor,
    num_tokens: int,
    replace_from: int = 0,
    replace_to: int = 0,
) -> torch.Tensor:
    """Return each request's value repeated once per draft: [B] to [S]."""
    counts = torch.diff(cu_num_tokens.long(), prepend=cu_num_tokens.new_zeros(1).long())
    values = torch.where(x == replace_from, torch.full_like(x, replace_to), x)
    return torch.repeat_interleave(values, counts, output_size=num_tokens)


def expansion_is_right() -> bool:
    """Return whether vLLM's installed expansion is correct for each dtype."""
    ends = torch.tensor([2, 2, 5], dtype=torch.int32)
    for dtype in (torch.float32, torch.int32):
        values = torch.tensor([3, 7, 11], dtype=dtype)
        want = [3, 3, 11, 11, 11]
        for _ in range(8):
            # Fill and free a block of the same size: uninitialised memory may hold right values.
            torch.full((5,), -1, dtype=dtype)
            if rejection.expand_batch_to_tokens(values, ends, 5).tolist() != want:
                return False
    return True
