"""The FIX session of shadow mode: there is none. No process is started, and nothing connects."""

from collections.abc import Callable

from typing_extensions import override

from fix.session.link import HandResult
from fix.wire.messages import Fields
from gateway.errors import NotReadyError
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import ChildHello

SHADOW = "shadow mode sends nothing"


class ShadowFix(FixChild):
    """A supervisor without a child: every door to the broker refuses."""

    @override
    def start(self, timeout_s: float = 30.0, *, last_reset: int = 0) -> ChildHello:
        raise NotReadyError(part="FIX session", state=SHADOW)

    @override
    def logon(
        self, *, min_next_sender: int, adopt: bool = False, epoch: int = 0, accept: bool = False
    ) -> None:
        raise NotReadyError(part="FIX session", state=SHADOW)

    @override
    def prepare(self, cl_ord_id: str, fields: Fields) -> None:
        """Do nothing: there is no child."""

    @override
    def go(
        self, cl_ord_id: str, fields: Fields, kill_epoch: int, send_before_us: int, until_us: int
    ) -> Callable[[], HandResult]:
        return lambda: HandResult(outcome="refused", reason=SHADOW)

    @override
    def kill(self, kill_epoch: int, timeout_s: float = 0.1) -> bool:
        """Confirm: without a child no order passes."""
        return True

    @override
    def drill(self, timeout_s: float = 0.1) -> bool:
        return True
