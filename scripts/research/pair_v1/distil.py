"""The target's two drafters: a one-layer network and a table.

Both learn from continuations that the target drew, because it will verify such tokens. The network
first lowers KL(p||q), then the total variation, which is one minus the acceptance. It must not see
news: its embeddings of narrative words are zero and stay zero.

The table has a row for each state of `ReturnCodec.table_state`: the target's mean row there,
shrunk to the row of its class and frequency, which is shrunk to the mean of all.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from inference.codec import vocabulary as words
from inference.codec.codec import N_MOVES, RATIO_COARSE, ReturnCodec
from inference.training.model import DRAFT, SmallLlama, smooth_start
from inference.training.sampling import fan_out
from scripts.research.pair_v1.windows import Mixture, Sampler

STEPS: Final = 16
"""Bins drawn per context."""
POOL_MIXTURE: Final = Mixture(real=48, tagged=8, synthetic=8)
PATHS: Final = 3
"""Continuations per context; most of the time goes into reading the context."""
POOL_SEED: Final = 0x5EED
TABLE_SHRINK: Final = 100.0
"""Rows at which a state weighs as much as its parent; large, because rows of a path are alike."""
HELD_OUT: Final = 0.1
BATCH: Final = 24
RATE: Final = 3e-3
LOOK_AHEAD: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePool:
    """Prompts with drawn continuations: tokens [n, 143 + 16], target rows [n, 16, 256]."""

    tokens: Tensor
    rows: Tensor
    states: Tensor
    """[n, 16]: the table's state of each row."""

    def split(self) -> tuple["SamplePool", "SamplePool"]:
        """Return the training part and the held-out part."""
        cut = self.tokens.shape[0] - max(1, int(self.tokens.shape[0] * HELD_OUT))
        return self._part(slice(None, cut)), self._part(slice(cut, None))

    def _part(self, where: slice) -> "SamplePool":
        return SamplePool(
            tokens=self.tokens[where], rows=self.rows[where], states=self.states[where]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Expected acceptance of a drafter on held-out continuations at temperature 1."""

    per_token: float
    """Mean of sum min(p, q)."""
    mean_accepted: float
    """Expected drafts accepted of four."""


def draw_pool(
    target: SmallLlama, sampler: Sampler, seconds: float, batches: int = 10_000
) -> SamplePool:
    """Return the target's continuations of training contexts; runs `seconds`, or one batch."""
    codec = ReturnCodec()
    generator = torch.Generator().manual_seed(POOL_SEED)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    ends = time.monotonic() + seconds
    for index in range(batches):
        batch = sampler.batch((1 << 32) + index, POOL_MIXTURE)
        full = batch.as_of == batch.as_of.max()
        prompts = torch.from_numpy(batch.tokens[full, : int(batch.as_of.max()) + 1])
        drawn, rows = fan_out(target, prompts, PATHS, STEPS, generator)
        tokens = torch.cat((prompts.repeat_interleave(PATHS, 0), drawn.reshape(-1, STEPS)), dim=1)
        rows = rows.reshape(-1, STEPS, words.N_BINS)
        parts.append((tokens, rows, _states(codec, tokens, prompts.shape[1])))
        if time.monotonic() > ends:
            break
    tokens, rows, states = (torch.cat(column) for column in zip(*parts, strict=True))
    return SamplePool(tokens=tokens, rows=rows, states=states)


def make_table(pool: SamplePool, shrink: float = TABLE_SHRINK) -> Tensor:
    """Return the table [n_states, 256] of a pool; row 0 is the mean of all rows."""
    count = ReturnCodec.n_table_states
    flat = pool.rows.reshape(-1, words.N_BINS).double()
    states = pool.states.reshape(-1)
    sums = torch.zeros(count, words.N_BINS, dtype=torch.float64).index_add_(0, states, flat)
    sizes = torch.bincount(states, minlength=count).double()
    mean = flat.mean(dim=0)
    group = (torch.arange(count) - 1) // (RATIO_COARSE * N_MOVES)
    table = mean.repeat(count, 1)
    for index in range(int(group.max()) + 1):
        own = group == index
        parent = (sums[own].sum(0) + shrink * mean) / (sizes[own].sum() + shrink)
        table[own] = (sums[own] + shrink * parent) / (sizes[own] + shrink)[:, None]
    return (table / table.sum(dim=1, keepdim=True)).float()


def train_draft(
    pool: SamplePool, seconds: float, say: Callable[[str], None], steps: int = 100_000
) -> SmallLlama:
    """Return a draft network trained for `seconds`, or one step."""
    torch.manual_seed(POOL_SEED)
    draft = SmallLlama(DRAFT)
    smooth_start(draft)
    _blind(draft)
    optimizer = torch.optim.AdamW(draft.parameters(), lr=RATE, weight_decay=0.0)
    generator = torch.Generator().manual_seed(POOL_SEED + 1)
    started = time.monotonic()
    for step in range(steps):
        share = min(max((time.monotonic() - started) / max(seconds, 1e-9), step / steps), 1.0)
        if step and share >= 1.0:
            break
        pick = torch.randint(pool.tokens.shape[0], (BATCH,), generator=generator)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 50) * (1.0 - 0.97 * share)
        loss = _draft_loss(draft, pool.tokens[pick], pool.rows[pick], variation=share)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(draft.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            say(f"draft {share:6.1%}  step {step:5d}  loss {float(loss.detach()):.4f}")
    return draft


def draft_rows(draft: SmallLlama, pool: SamplePool) -> Tensor:
    """Return the network's unmasked rows [n, 16, 256] for a pool."""
    parts = []
    with torch.no_grad():
        for tokens in pool.tokens.split(256):
            logits = draft(tokens[:, :-1])[:, -STEPS:]
            parts.append(torch.softmax(logits, dim=-1)[..., words.BIN_START :])
    return torch.cat(parts)


def acceptance(target_rows: Tensor, drafter_rows: Tensor) -> Acceptance:
    """Return acceptance per token and the expected accepted drafts of four, over all starts."""
    chance = torch.minimum(target_rows, drafter_rows).sum(dim=-1).double()
    windows = chance.unfold(1, LOOK_AHEAD, 1)
    expected = windows.cumprod(dim=-1).sum(dim=-1)
    return Acceptance(per_token=float(chance.mean()), mean_accepted=float(expected.mean()))


def _states(codec: ReturnCodec, tokens: Tensor, prompt_length: int) -> Tensor:
    rows = []
    for ids in tokens.tolist():
        base = codec.table_base(ids[:prompt_length])
        before = [ids[prompt_length - 1 - words.TAIL_LENGTH], *ids[prompt_length:-1]]
        rows.append([codec.table_step(base, last) for last in before])
    return torch.tensor(rows)


def _draft_loss(draft: SmallLlama, tokens: Tensor, rows: Tensor, variation: float) -> Tensor:
    """Return a mix of KL and total variation; `variation` moves from 0 to 1 over the run."""
    logits = draft(tokens[:, :-1])[:, -STEPS:]
    log_q = functional.log_softmax(logits, dim=-1)
    inside = log_q[..., words.BIN_START :]
    divergence = (rows * (rows.clamp_min(1e-9).log() - inside)).sum(dim=-1).mean()
    outside = 1.0 - inside.exp().sum(dim=-1)
    distance = 0.5 * ((rows - inside.exp()).abs().sum(dim=-1) + outside).mean()
    return (1.0 - 0.8 * variation) * divergence + 2.0 * variation * distance


def _blind(draft: SmallLlama) -> None:
    """Zero the embeddings of narrative words and keep their gradients zero."""
    hidden = torch.tensor(sorted(words.NARRATIVE_IDS))
    seen = torch.ones(words.VOCAB_SIZE, 1)
    seen[hidden] = 0.0
    with torch.no_grad():
        draft.embed.weight.mul_(seen)
    draft.embed.weight.register_hook(lambda gradient: gradient * seen)
