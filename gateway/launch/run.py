"""The wait for signals and for the engine, and the verb `serve`.

Not here: how parts start (`app`), what `run` plays (`paper`).
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gateway import clock
from gateway.errors import NotReadyError
from gateway.installation.settings import Settings
from gateway.launch.app import App, running
from gateway.launch.plan import serving_plan
from gateway.launch.setup.doctor import refuse_unfit
from gateway.telemetry.console import Progress, log_to_stderr
from gateway.walk.journal.run import ENGINE, model_loaded, processes_agreed
from inference.engine.port import EngineState


def serve_production(settings: Settings) -> int:
    """Serve until a signal; create nothing."""
    log_to_stderr(settings.log_level)
    plan = serving_plan(settings)
    progress = Progress(sys.stdout)
    plan = replace(plan, doctor=refuse_unfit(settings, progress.say))
    with (
        interruptible() as stop,
        running(plan, progress.say) as app,
        app.housekeeping.in_background(),
    ):
        if not await_engine(app, progress, stop):
            return 0
        progress.say(f"serving    {app.page_address()}")
        stop.wait()
    return 0


def await_engine(app: App, progress: Progress, stop: threading.Event) -> bool:
    """Wait for the engine and record its model; return False if a signal came first.

    Raises:
        NotReadyError: the engine refuses to serve, or is not up in time.
    """
    timeout_s = app.plan.settings.engine.start_timeout_s
    began_us = clock.monotonic_us()
    while not app.engine.wait_ready(0.5):
        if stop.is_set():
            return False
        elapsed_s = (clock.monotonic_us() - began_us) / 1_000_000
        if app.engine.state in {EngineState.REFUSING, EngineState.FAILED} or elapsed_s > timeout_s:
            detail = app.engine.refusal or f"see {app.plan.state.root / 'engine'}"
            raise NotReadyError(part="engine", state=f"{app.engine.state}: {detail}")
        progress.show(f"engine     {app.engine.state}")
    described = app.engine.describe()
    agreed = processes_agreed(app.plan.tags, ENGINE, app.engine.agreement.agreed)
    app.ledger.append(agreed)
    app.ledger.append(model_loaded(described, app.plan.tags.run_id))
    progress.say(
        f"engine     ready: {described.model_id}, drafter {described.drafter},"
        f" self-test {described.self_test.detail}"
    )
    return True


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set; a second Ctrl-C ends at once."""
    stop = threading.Event()

    def on_signal(number: int, _: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {n: signal.signal(n, on_signal) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
