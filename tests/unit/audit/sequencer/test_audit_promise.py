"""Promises: one answer, and an end of waiting that leaves nothing behind."""

import asyncio
import gc
import math

import pytest

from audit.errors import LedgerTimeoutError
from audit.sequencer import promise as promises
from audit.sequencer.promise import Promise


def test_many_deadlines_of_one_loop_are_kept_and_late_by_a_tick_at_most() -> None:
    async def wait(timeout_s: float) -> float:
        loop = asyncio.get_running_loop()
        start = loop.time()
        with pytest.raises(LedgerTimeoutError) as error:
            await Promise[int](loop).wait(timeout_s)
        assert error.value.written is False
        return loop.time() - start - timeout_s

    async def everybody() -> list[float]:
        return await asyncio.gather(*(wait(number / 100) for number in range(-1, 9)))

    assert min(asyncio.run(everybody())) >= 0


def test_an_answer_ends_the_waiting_and_an_endless_wait_is_one() -> None:
    async def ask() -> int:
        one: Promise[int] = Promise(asyncio.get_running_loop())
        asyncio.get_running_loop().call_later(0.01, one.set_result, 7)
        return await one.wait(math.inf)

    assert asyncio.run(ask()) == 7


def test_a_loop_that_is_closed_in_the_middle_is_forgotten() -> None:
    for _ in range(5):
        loop = asyncio.new_event_loop()
        waiting = Promise[int](loop).wait(60)
        task = loop.create_task(waiting)
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.close()
        del loop, task, waiting
        gc.collect()
    asyncio.run(_expired())
    assert len([loop for loop in promises._alarms if loop.is_closed()]) <= 1  # noqa: SLF001


async def _expired() -> None:
    with pytest.raises(LedgerTimeoutError):
        await Promise[int](asyncio.get_running_loop()).wait(0)
