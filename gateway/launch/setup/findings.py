"""What `doctor` found, and how it is told.

Exit codes: 0 healthy, 1 something must be mended, 2 something could not be looked at.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from audit.errors import AuditError
from fix.errors import FixError
from gateway.errors import GatewayError
from inference.errors import InferenceError
from risk.errors import RiskError

HEALTHY_CODE: Final = 0
MEND_CODE: Final = 1
UNSEEN_CODE: Final = 2


class Health(StrEnum):
    """What was found about one part."""

    GOOD = "good"
    MEND = "mend"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFinding:
    """One part and how it is; `command` mends it, "" where nothing is to mend."""

    part: str
    health: Health
    said: str
    command: str = ""


def good(part: str, said: str) -> PartFinding:
    """Return a finding about a part that is as it should be."""
    return PartFinding(part=part, health=Health.GOOD, said=said)


def mend(part: str, said: object, command: str) -> PartFinding:
    """Return a finding about a part that must be mended by one command."""
    return PartFinding(part=part, health=Health.MEND, said=str(said), command=command)


def unseen(part: str, said: object) -> PartFinding:
    """Return a finding about a part that could not be looked at."""
    return PartFinding(part=part, health=Health.UNSEEN, said=str(said))


def looked(part: str, look: Callable[[], Iterable[PartFinding]]) -> Iterator[PartFinding]:
    """Yield what a look finds; one that fails otherwise than expected is `unseen`."""
    try:
        yield from look()
    except (AuditError, FixError, GatewayError, InferenceError, RiskError, OSError) as error:
        yield unseen(part, error)


def tell(findings: Sequence[PartFinding], *, as_json: bool) -> int:
    """Print findings and return the exit code."""
    healths = {one.health for one in findings}
    code = MEND_CODE if Health.MEND in healths else UNSEEN_CODE * (Health.UNSEEN in healths)
    if as_json:
        told = {"code": code, "findings": [asdict(one) for one in findings]}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return code
    for one in findings:
        sys.stdout.write(f"{one.health:7} {one.part:12} {one.said}\n")
        if one.command:
            sys.stdout.write(f"{'':20} -> {one.command}\n")
    count = sum(one.health is Health.MEND for one in findings)
    verdict = ("healthy", f"{count} to mend", "not everything could be looked at")[code]
    sys.stdout.write(f"{verdict}\n")
    return code
