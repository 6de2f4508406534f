"""The `countersign` command: verbs from the group modules, errors as one line on stderr.

Exit codes: 0 done, 1 tampered or differs, 2 usage, incomplete or refused, 3 not checkable. For
`verify`, `fsck` and `restore` 2 means incomplete, so wrong arguments end in 3. Lost standard output
ends in 3 as well.
"""

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc, getdoc
from types import ModuleType
from typing import Final

import typer
from typer.models import CommandInfo, TyperInfo

from audit.errors import AuditError
from fix.errors import FixError
from gateway.cli.binder import Nouns, acts_app
from gateway.cli.output import NOT_TOLD, LostOutputError, Output
from gateway.cli.verbs import evaluate as judging
from gateway.cli.verbs import train as training
from gateway.cli.verbs.evidence import ask as asking
from gateway.cli.verbs.evidence import check as checking
from gateway.cli.verbs.evidence import criteria, govern, privacy
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
from gateway.cli.verbs.trade import modes, overrides
from gateway.cli.verbs.trade import orders as ordering
from gateway.cli.verbs.trade import stops as pausing
from gateway.errors import GatewayError
from inference.errors import InferenceError
from risk.errors import RiskError

app = typer.Typer(
    name="countersign",
    cls=Nouns,
    help="A governed execution gateway with an audit ledger. Start with `countersign run`.",
    epilog="These are the first verbs; `countersign verbs` lists all, by what they are for.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
GROUPS: Final[Mapping[str, tuple[ModuleType, ...]]] = {
    "Begin": (beginning, running, instruments, profiling, feeding),
    "Orders and stops": (ordering, stopping, pausing, modes, overrides),
    "Book": (differing, adjusting),
    "Check and prove": (checking, upkeep, proving, publishing, asking),
    "Oversight": (criteria, govern),
    "Policy, keys and persons": (deciding, keys, holders, privacy),
    "Models": (models, judging, promoting, training),
}
"""Every module of verbs, under the heading that `countersign verbs` prints, before the acts'."""
FIRST: Final = frozenset(
    {"init", "doctor", "run", "serve", "policy", "orders", "kill", "release", "differences"}
    | {"decisions", "show", "verify"}
)
"""The verbs that `countersign --help` shows: a first screen; `countersign verbs` has all."""

_Listed = CommandInfo | TyperInfo
_in_group: dict[str, list[_Listed]] = {}
for heading, modules in GROUPS.items():
    before = {id(one) for one in (*app.registered_commands, *app.registered_groups)}
    for module in modules:
        module.register(app)
    made: list[_Listed] = [*app.registered_commands, *app.registered_groups]
    _in_group[heading] = [one for one in made if id(one) not in before]


@app.command()
def verbs() -> None:
    """List every verb by what it is for; `countersign VERB --help` explains one.

    Example: countersign verbs
    """
    from gateway.acts.table import HEADINGS

    tree = acts_app()
    acts: list[_Listed] = [*tree.registered_commands, *tree.registered_groups]
    made = {name_of(one): help_of(one) for one in acts}
    own = {name_of(one) for listed in _in_group.values() for one in listed}
    for title, listed in _in_group.items():
        rows = [(name_of(one), help_of(one)) for one in listed]
        words = (act.verb.words.split()[0] for act in HEADINGS.get(title, ()) if act.verb)
        rows = sorted([*rows, *((word, made[word]) for word in {*words} - own)])
        lines = "".join(f"  {name:<15}{text}\n" for name, text in rows)
        sys.stdout.write(f"{title}\n{lines}\n")


def name_of(one: CommandInfo | TyperInfo) -> str:
    """Return the word that calls a verb or a group of verbs."""
    if isinstance(one, TyperInfo) and one.typer_instance is not None:
        one = one.typer_instance.info
    called = getattr(one, "callback", None)
    return str(one.name or getattr(called, "__name__", "")).replace("_", "-")


def help_of(one: CommandInfo | TyperInfo) -> str:
    """Return the help of a verb or of a group of verbs, as one line."""
    if isinstance(one, TyperInfo) and one.typer_instance is not None:
        return str(one.typer_instance.info.help or "")
    return unwrapped(one.help or getdoc(one.callback) or "").partition("\n")[0]


def unwrapped(text: str) -> str:
    """Return a help text with each paragraph on one line, for a terminal to wrap at its width."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text).split("\n\n"))


def verbs_of(application: typer.Typer) -> Iterator[tuple[str, CommandInfo]]:
    """Yield every verb with the words that call it, also those of a group."""
    for one in application.registered_commands:
        yield name_of(one), one
    for part in application.registered_groups:
        if part.typer_instance is not None:
            for name, one in verbs_of(part.typer_instance):
                yield f"{part.typer_instance.info.name} {name}", one


def every_verb() -> Iterator[tuple[str, CommandInfo]]:
    """Yield every verb with the words that call it, also those that acts have."""
    yield from verbs_of(app)
    yield from verbs_of(acts_app())


for _, verb in verbs_of(app):
    verb.help = unwrapped(verb.help or getdoc(verb.callback) or "")
_shown: list[_Listed] = [*app.registered_commands, *app.registered_groups]
for each in _shown:
    each.hidden = name_of(each) not in FIRST


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
