"""The `countersign` command: verbs from the group modules, errors as one line on stderr.

Exit codes: 0 done, 1 tampered or differs, 2 usage, incomplete or refused, 3 not checkable. For
`verify`, `fsck` and `restore` 2 means incomplete, so wrong arguments end in 3. Lost standard output
ends in 3 as well.
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from inspect import cleandoc, getdoc

import typer
from typer.models import CommandInfo

from audit.errors import AuditError
from fix.errors import FixError
from gateway.cli.output import NOT_TOLD, LostOutputError, Output
from gateway.cli.verbs import evaluate as judging
from gateway.cli.verbs import train as training
from gateway.cli.verbs.evidence import (
    annotate,
    cases,
    criteria,
    govern,
    justifications,
    privacy,
    reviews,
)
from gateway.cli.verbs.evidence import ask as asking
from gateway.cli.verbs.evidence import check as checking
from gateway.cli.verbs.evidence import maintain as upkeep
from gateway.cli.verbs.evidence import prove as proving
from gateway.cli.verbs.evidence import publish as publishing
from gateway.cli.verbs.setup import begin as beginning
from gateway.cli.verbs.setup import holders, instruments, keys, models
from gateway.cli.verbs.setup import policy as deciding
from gateway.cli.verbs.setup import profile as profiling
from gateway.cli.verbs.setup import promote as promoting
from gateway.cli.verbs.setup import run as running
from gateway.cli.verbs.trade import adjustments as adjusting
from gateway.cli.verbs.trade import differences as differing
from gateway.cli.verbs.trade import kill as stopping
from gateway.cli.verbs.trade import market as feeding
from gateway.cli.verbs.trade import modes, overrides, publications
from gateway.cli.verbs.trade import orders as ordering
from gateway.cli.verbs.trade import stops as pausing
from gateway.errors import GatewayError
from inference.errors import InferenceError
from risk.errors import RiskError

app = typer.Typer(
    name="countersign",
    help="A governed execution gateway with an audit ledger. Start with `countersign run`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for group in (
    beginning,
    running,
    checking,
    upkeep,
    proving,
    publishing,
    stopping,
    ordering,
    pausing,
    modes,
    overrides,
    feeding,
    cases,
    reviews,
    justifications,
    annotate,
    govern,
    criteria,
    asking,
    differing,
    adjusting,
    publications,
    keys,
    holders,
    deciding,
    instruments,
    models,
    profiling,
    privacy,
    training,
    judging,
    promoting,
):
    group.register(app)


def unwrapped(text: str) -> str:
    """Return a help text with each paragraph on one line, for a terminal to wrap at its width."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text).split("\n\n"))


def verbs_of(application: typer.Typer) -> Iterator[tuple[str, CommandInfo]]:
    """Yield every verb with the words that call it, also those of a group."""
    for one in application.registered_commands:
        name = str(one.name or getattr(one.callback, "__name__", "")).replace("_", "-")
        yield name, one
    for part in application.registered_groups:
        if part.typer_instance is not None:
            for name, one in verbs_of(part.typer_instance):
                yield f"{part.typer_instance.info.name} {name}", one


for _, verb in verbs_of(app):
    verb.help = unwrapped(verb.help or getdoc(verb.callback) or "")


def exit_code_of(action: Callable[[], int | None]) -> int:
    """Run an action; one of our own errors is one line on stderr and exit code 2."""
    try:
        return action() or 0
    except (AuditError, FixError, GatewayError, InferenceError, RiskError, OSError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return 2
    except Exception as error:
        from audit.store.tables import DatabaseError, out_of_reach

        if not isinstance(error, DatabaseError):
            raise
        sys.stderr.write(f"countersign: {out_of_reach(error)}\n")
        return 2


def main() -> None:
    """Run one verb; its exit code is a verdict only if its output was written."""
    output = Output()
    try:
        code = exit_code_of(app)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except LostOutputError:
        code = NOT_TOLD
    except Exception:  # noqa: BLE001 - Python's own exit code, 1, would mean "tampered"
        traceback.print_exc()
        code = NOT_TOLD
    sys.exit(output.settled(code))
