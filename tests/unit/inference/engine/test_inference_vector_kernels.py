"""Every elementwise function that MKL computes is called once before an engine is built."""

import pytest
import torch

from inference.engine import vector_kernels


def test_every_function_is_called_alone_in_both_precisions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[tuple[str, torch.dtype, int]] = []
    for name in vector_kernels.FUNCTIONS:
        monkeypatch.setattr(
            torch, name, lambda x, name=name: called.append((name, x.dtype, x.numel()))
        )
    vector_kernels.resolve()
    assert sorted(called, key=str) == sorted(
        (
            (name, dtype, 1)
            for name in vector_kernels.FUNCTIONS
            for dtype in (torch.float32, torch.float64)
        ),
        key=str,
    )
    assert {"cos", "sin", "exp", "log"} <= set(vector_kernels.FUNCTIONS)
