"""Named places where a test can kill the process, to prove what a crash there leaves.

Only `COUNTERSIGN_FAILPOINT=name:kill@n` in the development profile arms one; `serve` refuses it.
`NAMES` lists every name in walk order, and the crash tests try each of them.
"""

import os
import signal
from typing import Final

from gateway.errors import SettingsError

NAMES: Final = (
    "forecast.opened",
    "forecast.requested",
    "forecast.sampled",
    "forecast.made",
    "decide.forecast_taken",
    "decide.intent_proposed",
    "decide.evaluated",
    "decide.verdict_given",
    "basket.received",
    "basket.judged",
    "basket.decided",
    "dispatch.chosen",
    "dispatch.sending_committed",
    "dispatch.handed",
    "dispatch.sent_recorded",
    "replace.requested",
    "replace.handed",
    "settle.received",
    "settle.recorded",
    "settle.sealed",
    "policy.checked",
    "policy.recorded",
)

_armed: dict[str, int] = {}


def arm(spec: str | None) -> None:
    """Arm one failpoint from `name:kill@n`: the n-th time it is reached kills this process.

    Raises:
        SettingsError: when the name is not in `NAMES` or the form is wrong.
    """
    _armed.clear()
    if not spec:
        return
    name, _, rest = spec.partition(":")
    action, _, count = rest.partition("@")
    if name not in NAMES or action != "kill" or not count.isdigit() or int(count) < 1:
        raise SettingsError(
            name="COUNTERSIGN_FAILPOINT", problem=f"{spec!r} is not name:kill@n with a known name"
        )
    _armed[name] = int(count)


def reach(name: str) -> None:
    """Kill this process with SIGKILL if `name` is armed and its count has run out."""
    left = _armed.get(name)
    if left is None:
        return
    if left <= 1:
        os.kill(os.getpid(), signal.SIGKILL)
    _armed[name] = left - 1
