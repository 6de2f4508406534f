"""A desk as its operator serves it, for a scene: files, one start after the other, callers' doors.

Everything that the desk is asked goes over HTTP with the keys that `init` handed out.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from fix.session.link import SessionState
from gateway.clock import wall_us
from gateway.installation.children.simulator import free_port, wait_for
from gateway.installation.settings import load
from gateway.launch.app import App, running
from gateway.launch.plan import serving_plan
from gateway.launch.setup.doctor import refuse_unfit
from gateway.walk.journal.standing import Standing
from tests.doubles.feeds import bars, quote
from tests.doubles.operator_page import commands_of_the_page, make_desk

PROGRAM = (sys.executable, "-m", "tests.doubles.scripted_engine", "well")
SYMBOL = "AAPL"
"""What the example's table of instruments has."""
BARS = 60
WITHIN_S = 40.0
BACK_S = 60.0
ASKED_MAX = 20
QUOTED_S = 0.3


class ServedDesk:
    """A desk of an empty folder; `start` and `stop` may follow one another."""

    def __init__(
        self,
        top: Path,
        port: int,
        patch: pytest.MonkeyPatch,
        profile: str,
        edit: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the desk with the page's commands for the broker's port and a profile's text.

        `edit` may change its files before the officers sign.
        """
        self.top = top
        self.decisions: list[str] = []
        self._running = ExitStack()
        self._app: App | None = None
        self._quotes = self._lots = 0
        self._quoting = threading.Lock()
        own = free_port()
        self.address = f"http://127.0.0.1:{own}"
        top.mkdir()
        patch.chdir(top)
        patch.setenv("COUNTERSIGN_API__PORT", str(own))
        (*prepare, serve), _ = commands_of_the_page()
        assert serve == "countersign serve"
        make_desk(prepare, port, patch, profile, edit)

    @property
    def app(self) -> App:
        """The running gateway."""
        assert self._app is not None
        return self._app

    def start(self) -> None:
        """Serve as the folder says, with the scripted engine."""
        settings = load()
        plan = replace(serving_plan(settings), doctor=refuse_unfit(settings, lambda _: None))
        plan = replace(plan, engine_program=PROGRAM)
        self._app = self._running.enter_context(running(plan, lambda _: None))
        self._running.enter_context(self._app.housekeeping.in_background())
        wait_for(lambda: self.app.engine.wait_ready(0.1), WITHIN_S, part="engine")

    def stop(self) -> None:
        """End the gateway; the folder and the broker stay."""
        self._running.close()
        self._app = None

    def ready(self) -> None:
        """Wait until the session takes orders."""
        assert self.app.fix.wait_for(SessionState.READY, BACK_S), self.app.desk.parts()["fix"]

    def post_bars(self) -> None:
        """Post closed daily bars, as lines."""
        lines = "\n".join(
            json.dumps({**one, "instrument": SYMBOL}) for one in bars(BARS, wall_us())
        )
        assert self.post("feed", "/v1/market/bars", lines)["taken"] == BARS

    def post_quote(self) -> None:
        """Post a quote of now."""
        with self._quoting:
            self._quotes += 1
            said = quote(self._quotes, wall_us(), instrument=SYMBOL)
            self.post("feed", "/v1/market/quotes", said)

    @contextmanager
    def quoted(self) -> Iterator[None]:
        """Post quotes all the time, as a feed does: a slow machine's forecast finds a fresh one."""
        over = threading.Event()

        def quotes() -> None:
            while not over.wait(QUOTED_S):
                self.post_quote()

        thread = threading.Thread(target=quotes, name="feed")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def ask(self, exposure_bp: int = 2_000) -> Standing:
        """Ask as the agent until an order leaves: a machine that stood still made a quote too old.

        Each order has another size, in lots, so that none looks like a repeat.
        """
        said: list[Any] = []
        for _ in range(ASKED_MAX):
            said.append(self.wish(exposure_bp))
            if said[-1]["result"] == "approved":
                self.decisions.append(str(said[-1]["decision_id"]))
                return self.standing(self.decisions[-1])
        raise AssertionError(json.dumps(said[-3:], indent=1))

    def wish(self, exposure_bp: int = 2_000) -> dict[str, Any]:
        """Post a quote of now, then ask once; return the answer."""
        self._lots += 1
        self.post_quote()
        wish: dict[str, Any] = {"client_key": f"wish-{self._lots}", "instrument": SYMBOL}
        wish |= {"target_exposure_bp": exposure_bp, "max_qty_lots": 20 + 2 * self._lots}
        return self.post("agent", "/v1/intents", wish)

    def standing(self, decision_id: str) -> Standing:
        """Return where a decision stands."""
        found = self.app.orders.get(decision_id)
        assert found is not None
        return found

    def comes(self, one: Standing, done: Callable[[Standing], bool]) -> Standing:
        """Wait until an order stands as wanted."""
        wait_for(
            lambda: done(self.standing(one.decision_id)), WITHIN_S, part=f"{one.cl_ord_id}'s state"
        )
        return self.standing(one.decision_id)

    def post(self, name: str, path: str, body: object) -> dict[str, Any]:
        """Post as the holder of a home; a text is sent as lines."""
        kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
        answer = httpx.post(
            self.address + path,
            content=body if isinstance(body, str) else json.dumps(body),
            headers={**self._key(name), "Content-Type": kind},
            timeout=30.0,
            trust_env=False,
        )
        assert answer.status_code == httpx.codes.OK, (path, body, answer.text)
        return dict(answer.json())

    def get(self, name: str, path: str) -> dict[str, Any]:
        """Read as the holder of a home."""
        answer = httpx.get(
            self.address + path, headers=self._key(name), timeout=30.0, trust_env=False
        )
        assert answer.status_code == httpx.codes.OK, (path, answer.text)
        return dict(answer.json())

    def _key(self, name: str) -> dict[str, str]:
        token = (self.top / "desk" / name / f"{name}.token").read_text().strip()
        return {"Authorization": f"Bearer {token}"}


@contextmanager
def served_desk(
    top: Path,
    port: int,
    patch: pytest.MonkeyPatch,
    profile: str,
    edit: Callable[[], None] = lambda: None,
) -> Iterator[ServedDesk]:
    """Yield a desk that is made but not started; it is stopped at the end."""
    desk = ServedDesk(top, port, patch, profile, edit)
    try:
        yield desk
    finally:
        desk.stop()
