"""Resolve MKL's kernels of elementwise functions before several threads ask for them at once.

oneMKL chooses the kernel of each vector function when it is first called. If that call comes from
several threads at once, one of them may compute its share with a kernel of low accuracy (errors up
to 1.5e-4). vLLM's first calls of `cos` and `sin` fill the table of rotary positions, so such an
engine's rows differ from the weights' as long as it lives, by up to 3e-5 in a sum of
probabilities; it is one process in some hundreds, more on a busy machine. One call of each
function on one element, in one thread, prevents it. Source: pytorch/pytorch issue 188792.

`ATEN_CPU_CAPABILITY` keeps PyTorch to older vector instructions; vLLM's own kernels, of which it
has one library for each set of instructions, do not read it. `keep_to_cap` makes them follow, so
that a machine with AVX-512 computes as one without it.

Not here: the check that an engine's rows are those of the weights (`self_test.py`).
"""

from typing import Final

import torch

FUNCTIONS: Final = (
    *("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh"),
)


def keep_to_cap() -> None:
    """Let vLLM take its AVX2 library where PyTorch is kept from AVX-512; before vLLM's import."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        torch.cpu._is_avx512_supported = lambda: False  # noqa: SLF001 - what vLLM asks


def resolve() -> None:
    """Call every elementwise function once, in this thread, in both precisions."""
    for dtype in (torch.float32, torch.float64):
        half = torch.full((1,), 0.5, dtype=dtype)
        for name in FUNCTIONS:
            getattr(torch, name)(half)
