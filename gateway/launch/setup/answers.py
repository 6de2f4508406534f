"""What a new installation is, from options or from questions on a terminal.

Not here: what is made of it (`homes`, `wizard`).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.errors import SettingsError
from gateway.installation.policies.traded import UNSCALED, DraftScale

EMBEDDED: Final = "embedded"
_PORTS: Final = range(1, 65_536)

Ask = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options of `countersign init`; None where nothing was said."""

    origin: str | None = None
    broker: str | None = None
    sender: str | None = None
    target: str | None = None
    database: str | None = None
    account: str | None = None
    author: str | None = None
    liable: str | None = None
    instruments: Path | None = None
    risk_public: Path | None = None
    compliance_public: Path | None = None
    scale: DraftScale = UNSCALED


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What to make.

    Attributes:
        dsn: of a database of one's own; None for the embedded one.
        liable: who deploys the system and operates its machine, so who answers for decisions.
        instruments: the table to copy; None for the example.
        publics: public key files of officers who have a key already, by role.
        scale: by what the draft's limits are scaled.
    """

    origin: str
    host: str
    port: int
    sender: str
    target: str
    dsn: str | None
    account: str
    author: str
    liable: str
    instruments: Path | None
    publics: dict[str, Path]
    scale: DraftScale


@dataclass(frozen=True, slots=True)
class _Question:
    option: str
    words: str
    default: str = ""


_QUESTIONS: Final = {
    "origin": _Question(
        "--origin", "Name of the log, for ever: a domain of yours and a word (example.com/desk)"
    ),
    "broker": _Question("--broker", "The broker's FIX address (HOST:PORT)"),
    "sender": _Question("--sender", "Your CompID, as the broker gave it (SenderCompID)"),
    "target": _Question("--target", "The broker's CompID (TargetCompID)"),
    "database": _Question(
        "--database", "A PostgreSQL DSN of a plain login, or `embedded`", EMBEDDED
    ),
    "account": _Question("--account", "The account's name", "desk"),
    "author": _Question(
        "--author", "Code of who writes the policy, who may not sign it", "quant-desk"
    ),
}


def answered(wishes: Wishes, ask: Ask | None) -> Answers:
    """Return the answers; `ask` puts a question to a person, None if there is nobody.

    Nothing is asked if the options suffice.

    Raises:
        SettingsError: an answer is missing or wrong; names the options.
    """
    said: dict[str, str] = {}
    missing: list[str] = []
    suffices = all(getattr(wishes, name) or one.default for name, one in _QUESTIONS.items())
    for name, question in _QUESTIONS.items():
        given: str | None = getattr(wishes, name)
        if given is None and ask is not None and not suffices:
            hint = f" [{question.default}]" if question.default else ""
            given = ask(f"{question.words}{hint}: ").strip()
        said[name] = given or question.default
        if not said[name]:
            missing.append(question.option)
    if missing:
        raise SettingsError(
            name=", ".join(missing), problem="no default: give each, or answer on a terminal"
        )
    host, port = _address(said["broker"])
    publics = {"risk": wishes.risk_public, "compliance": wishes.compliance_public}
    database = said["database"]
    return Answers(
        origin=said["origin"],
        host=host,
        port=port,
        sender=said["sender"],
        target=said["target"],
        dsn=None if database == EMBEDDED else database,
        account=said["account"],
        author=said["author"],
        liable=wishes.liable or said["origin"].partition("/")[0],
        instruments=wishes.instruments,
        publics={role: path for role, path in publics.items() if path is not None},
        scale=wishes.scale,
    )


def terminal() -> Ask | None:
    """Return what asks the person at the terminal, or None if there is none."""
    return _asked if sys.stdin.isatty() else None


def _asked(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) not in _PORTS:
        raise SettingsError(
            name="--broker", problem=f"{text!r} is not HOST:PORT; write one such as broker:9878"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
