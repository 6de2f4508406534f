"""`countersign serve` as its own process with the real engine, by the page's commands alone.

Everything is asked over HTTP; the broker is another process on another engine than QuickFIX.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.doubles.fix_world import until
from tests.doubles.operator_page import do
from tests.doubles.outside_broker import OTHER_ENGINE, OutsideBroker, outside_broker
from tests.doubles.programs import FIRST_PARTS
from tests.doubles.scene_desk import ASKED_MAX, ServedDesk, served_desk

pytestmark = [pytest.mark.walk, pytest.mark.engine, pytest.mark.timeout(600)]
UP_S = 400.0
ENDS_S = 60.0
WAITING_S = 30.0


@contextmanager
def serving(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield `countersign serve` in the present folder; SIGTERM ends it."""
    program = Path(sys.executable).parent / "countersign"
    with (
        log.open("ab") as file,
        subprocess.Popen([program, "serve"], stdout=file, stderr=file) as one,
    ):
        try:
            yield one
            one.terminate()
            assert one.wait(ENDS_S) == 0, log.read_text()[-3_000:]
        finally:
            one.kill()


def is_ready(desk: ServedDesk) -> bool:
    try:
        return httpx.get(f"{desk.address}/readyz", trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OutsideBroker]:
    """A broker of another make that fills every order in two parts."""
    with outside_broker(tmp_path / "broker", (*OTHER_ENGINE, "DESK"), *("fill",) * 9) as one:
        yield one


def test_the_pages_commands_serve_an_order_with_the_real_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: OutsideBroker
) -> None:
    """With the pair and the policy that ship, so under every rule."""
    for name in FIRST_PARTS:
        monkeypatch.delenv(name)
    log = tmp_path / "serve.log"
    with (
        served_desk(tmp_path / "empty", broker.port, monkeypatch, "") as desk,
        serving(log) as process,
    ):
        assert until(lambda: is_ready(desk) or process.poll() is not None, UP_S)
        assert process.poll() is None, log.read_text()[-3_000:]
        desk.post_bars()
        with desk.quoted():
            answers = [desk.wish() for _ in range(ASKED_MAX) if not broker.wire("D")]
        assert answers[-1]["result"] == "approved", answers
        path = f"/v1/orders/{answers[-1]['cl_ord_id']}"
        assert until(lambda: desk.get("agent", path)["state"] == "FILLED", WAITING_S)
        (theirs,) = broker.orders().values()
        assert desk.get("agent", path)["filled_lots"] == theirs["qty"]
    told = Path("broker.log")
    told.write_text(broker.fix_log())
    do("verify", "--key", "keys/ledger.key.pub", "--broker-fills", told)
    do("doctor")
