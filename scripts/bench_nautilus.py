"""Measure nautilus_trader's pre-trade check of a limit order, for the page of `make bench-risk`.

It is no dependency: run this by the Python of an environment that has it, alone or through
`COUNTERSIGN_NAUTILUS_PYTHON`. Prints one JSON object, or exits 2 where it cannot be imported.

The engine stands alone: what it passes goes to an endpoint that counts, so neither routing nor an
execution engine is in the figure.
"""

import json
import platform
import sys
from time import process_time_ns
from typing import Any

ORDERS = 4_000


def main() -> int:
    """Measure and print."""
    try:
        import nautilus_trader as nautilus  # noqa: PLC0415 - only where it is installed
    except ImportError:
        return 2
    from nautilus_trader.test_kit.stubs.component import TestComponentStubs  # noqa: PLC0415

    engine, cache, instrument, passed = _engine()
    factory = TestComponentStubs.order_factory()
    commands = [_command(cache, factory, instrument, 1 + n % 90) for n in range(ORDERS)]
    found = []
    for command in commands:
        began = process_time_ns()
        engine.execute(command)
        found.append((process_time_ns() - began) / 1_000)
    engine.execute(_command(cache, factory, instrument, 10_000))  # above its largest notional
    found = sorted(found[ORDERS // 10 :])  # the first ones warm up
    if len(passed) != ORDERS:
        sys.stderr.write(f"{len(passed)} orders passed, not {ORDERS}\n")
        return 1
    said = {
        "version": nautilus.__version__,
        "python": platform.python_version(),
        "orders": len(found),
        "p50_us": found[len(found) // 2],
        "p99_us": found[int(0.99 * len(found))],
    }
    sys.stdout.write(json.dumps(said) + "\n")
    return 0


def _engine() -> tuple[Any, Any, Any, list[object]]:
    """Return a risk engine with a cash account, its cache, an instrument, and where orders go."""
    from nautilus_trader.common.component import MessageBus, TestClock  # noqa: PLC0415
    from nautilus_trader.core.uuid import UUID4  # noqa: PLC0415
    from nautilus_trader.model.currencies import USD  # noqa: PLC0415
    from nautilus_trader.model.enums import AccountType  # noqa: PLC0415
    from nautilus_trader.model.events import AccountState  # noqa: PLC0415
    from nautilus_trader.model.identifiers import AccountId, TraderId  # noqa: PLC0415
    from nautilus_trader.model.objects import AccountBalance, Money  # noqa: PLC0415
    from nautilus_trader.portfolio.portfolio import Portfolio  # noqa: PLC0415
    from nautilus_trader.risk.config import RiskEngineConfig  # noqa: PLC0415
    from nautilus_trader.risk.engine import RiskEngine  # noqa: PLC0415
    from nautilus_trader.test_kit.providers import TestInstrumentProvider  # noqa: PLC0415
    from nautilus_trader.test_kit.stubs.component import TestComponentStubs  # noqa: PLC0415

    clock, trader = TestClock(), TraderId("TESTER-000")
    bus = MessageBus(trader_id=trader, clock=clock)
    cache = TestComponentStubs.cache()
    portfolio = Portfolio(msgbus=bus, cache=cache, clock=clock)
    passed: list[object] = []
    bus.register(endpoint="ExecEngine.execute", handler=passed.append)
    bus.register(endpoint="ExecEngine.process", handler=lambda _: None)
    instrument = TestInstrumentProvider.equity(symbol="AAPL", venue="XNAS")
    cache.add_instrument(instrument)
    money = Money(100_000_000, USD)
    state = AccountState(
        AccountId("XNAS-001"),
        AccountType.CASH,
        USD,
        True,  # noqa: FBT003 - its positional form
        [AccountBalance(money, Money(0, USD), money)],
        [],
        {},
        UUID4(),
        0,
        0,
    )
    portfolio.update_account(state)
    engine = RiskEngine(
        portfolio=portfolio,
        msgbus=bus,
        cache=cache,
        clock=clock,
        config=RiskEngineConfig(
            max_order_submit_rate="1000000/00:00:01",
            max_notional_per_order={str(instrument.id): 1_000_000},
        ),
    )
    engine.start()
    return engine, cache, instrument, passed


def _command(cache: Any, factory: Any, instrument: Any, quantity: int) -> Any:  # noqa: ANN401
    """Return the command to submit a limit order to buy at 150.00."""
    from nautilus_trader.core.uuid import UUID4  # noqa: PLC0415
    from nautilus_trader.execution.messages import SubmitOrder  # noqa: PLC0415
    from nautilus_trader.model.enums import OrderSide  # noqa: PLC0415
    from nautilus_trader.model.identifiers import TraderId  # noqa: PLC0415
    from nautilus_trader.model.objects import Price, Quantity  # noqa: PLC0415

    order = factory.limit(
        instrument.id, OrderSide.BUY, Quantity.from_int(quantity), Price.from_str("150.00")
    )
    cache.add_order(order, None)
    return SubmitOrder(
        trader_id=TraderId("TESTER-000"),
        strategy_id=order.strategy_id,
        order=order,
        command_id=UUID4(),
        ts_init=0,
        position_id=None,
    )


if __name__ == "__main__":
    sys.exit(main())
