"""The verb init: one folder with everything that a gateway and its people need to begin.

Everything is made in a hidden folder first and moved in the end, so that an interrupted or refused
`init` leaves nothing. Not here: a key's form, a policy's numbers; other verbs make both.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.files import PRIVATE
from audit.signers.file import write_new
from fix.dialects.profile_text import parse_profile_text
from gateway.clock import wall_us
from gateway.errors import RequestError
from gateway.feeds.instruments.table import EXAMPLE, read_table
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.policies.policy_files import DraftOptions, write_draft
from gateway.installation.policies.sections import missing_said
from gateway.installation.policies.traded import currency_of
from gateway.installation.settings_file import FILE
from gateway.launch.commands.policies import equity_minor
from gateway.launch.commands.prices import traded_of
from gateway.launch.commands.profile import example_profile
from gateway.launch.setup.agent_scope import make_scope
from gateway.launch.setup.answers import Answers
from gateway.launch.setup.homes import GATEWAY, OFFICERS, Home, make_homes
from gateway.launch.setup.own_files import DRAFT
from gateway.launch.setup.settings_text import settings_text

POLICY_DAYS: Final = 365
_READABLE: Final = 0o644
_PROFILE: Final = "broker.toml"


def make_installation(folder: Path, answers: Answers) -> int:
    """Make everything below `folder`, which must be empty or missing; print who takes what.

    Raises:
        RequestError: the folder holds something.
        InstrumentsError: the table of instruments has faults.
        ProfileError: the broker's address or a CompID cannot stand in a profile.
        SettingsError: a public key file holds none.
    """
    with _appearing(folder.absolute()) as top:
        own = top / GATEWAY
        own.mkdir(mode=0o711)  # the embedded database's user passes through it
        table = _make_table(own, answers)
        traded = traded_of(read_table(table), answers.scale)
        options = DraftOptions(
            author=answers.author,
            days=POLICY_DAYS,
            now_us=wall_us(),
            traded=traded,
            equity_minor=equity_minor(answers.scale.equity, currency_of(traded)),
        )
        policy = write_draft(own / DRAFT, None, options)
        scope, allowed = make_scope(own, policy)
        log, homes = make_homes(top, answers.origin, answers.publics, scope)
        _make_profile(own, answers, currency_of(traded))
        settings = settings_text(_chosen(answers, table.name)).encode()
        write_new(own / FILE, settings, PRIVATE)  # a DSN may hold a password
    told = (
        *_told(folder, log, homes),
        allowed,
        *missing_said(policy, traded),
        *_next(folder, answers),
    )
    sys.stdout.write("\n".join([*told, ""]))
    return 0


def _make_table(own: Path, answers: Answers) -> Path:
    source = answers.instruments or EXAMPLE
    read_table(source)  # fail with its own name
    table = own / f"instruments{source.suffix.lower()}"
    write_new(table, source.read_bytes(), _READABLE)
    return table


def _make_profile(own: Path, answers: Answers, currency: str) -> None:
    """Write the broker's profile: plain FIX 4.4, which every engine takes, with the answers."""
    told = {
        "name": "broker",
        "sender_comp_id": answers.sender,
        "target_comp_id": answers.target,
        "host": answers.host,
        "port": answers.port,
        "currency": currency,
    }
    text = example_profile(None)
    for key, value in told.items():
        line = f"{key} = {json.dumps(value)}".replace("\\", r"\\")
        text = re.sub(rf"(?m)^{key} = [^\s#]+", line, text)
    parse_profile_text(text)
    write_new(own / _PROFILE, text.encode(), _READABLE)


def _chosen(answers: Answers, table: str) -> dict[str, object]:
    database: dict[str, object] = (
        {"ledger.embedded": True} if answers.dsn is None else {"ledger.dsn": answers.dsn}
    )
    return database | {
        "state": "state",
        "keys": "keys",
        "account": answers.account,
        "instruments": table,
        "ledger.origin": answers.origin,
        "fix.profile": _PROFILE,
        "liability.deployer": answers.liable,
        "liability.compute_operator": answers.liable,
    }


def _told(folder: Path, log: str, homes: list[Home]) -> Iterator[str]:
    yield f"{folder}: made; hand each folder to its holder"
    said = {GATEWAY: "stays here: settings, instruments, draft policy, its own keys"}
    said |= {home.name: home.said for home in homes}
    yield from (f"  {name:20} {words}" for name, words in said.items())
    yield f"the log's public key, for outsiders: {log}"


def _next(folder: Path, answers: Answers) -> Iterator[str]:
    yield f"{answers.liable} answers for decisions: [liability] in {FILE} says who else does"
    yield "next (first edit policy.toml, instruments.toml, broker.toml: each number has a comment):"
    yield f"  cd {shlex.quote(str(folder / GATEWAY))}"
    names = (DRAFT, BUNDLE)
    for (role, home), file in zip(OFFICERS.items(), names, strict=True):
        key = "KEY" if role in answers.publics else f"../{home.name}/{role}.key"
        yield f"  countersign policy sign {file} --key {key}"
    yield f"  countersign policy activate {BUNDLE}"
    if answers.dsn is not None:
        yield "  COUNTERSIGN_LEDGER__ADMIN_DSN=.. countersign migrate"
    yield "  countersign doctor"
    yield "  countersign serve"


@contextlib.contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder; on success its content moves up, otherwise it is removed."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    if any(folder.iterdir()):
        raise RequestError(problem=f"{folder} is not empty: init never overwrites; name another")
    hidden = Path(tempfile.mkdtemp(prefix=".init-", dir=folder))
    try:
        yield hidden
        # a crash here leaves some folders moved and the others hidden: remove them and repeat
        for child in sorted(hidden.iterdir()):
            child.rename(folder / child.name)
        hidden.rmdir()
        os.sync()
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        with contextlib.suppress(OSError):  # no longer empty
            for one in made:
                one.rmdir()
        raise
