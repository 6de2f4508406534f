"""What both officers sign of an act, by its name, and their signatures.

The same statement functions judge the signatures when the act is asked for.

Not here: statements of more than one step, whose verbs are by hand (overrides, criteria, modes).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.desk.officers.adjustment import adjustment_statement
from gateway.desk.officers.oversight.justifications import justification_statement, terms_of
from gateway.desk.officers.oversight.publications import end_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToSign:
    """An act that a person asks for: its name, the path's ids, the body without signatures.

    Attributes:
        read: the answer of the read that the act's row names; it has the log id.
    """

    name: str
    actor: str
    ids: Mapping[str, Any]
    body: Any
    read: Mapping[str, Any]

    @property
    def log(self) -> str:
        """The log id."""
        return str(self.read["log_id"])


def signatures_of(
    asked: AskedToSign, keyring: Keyring, key_files: Mapping[str, Path | None]
) -> dict[str, str]:
    """Return both officers' signatures of an act, hex by role.

    Raises:
        RequestError: what it names is not on record.
        SettingsError: a key file holds no key.
    """
    signed = SIGNED[asked.name](asked)
    return {
        role: role_key(keyring, role, key_files.get(role)).sign(signed).hex()
        for role in SIGNING_ROLES
    }


def _publication_end(asked: AskedToSign) -> bytes:
    ref = asked.ids["ref"]
    act = next((one for one in asked.read["publications"] if one["ref"] == ref), None)
    if act is None:
        raise RequestError(problem=f"no act {ref} is on record: countersign publications list")
    return end_statement(asked.log, act["seq"], act["leaf"], asked.body.reason)


SIGNED: Final[Mapping[str, Callable[[AskedToSign], bytes]]] = {
    "publications.end": _publication_end,
    "justifications.enter": lambda asked: justification_statement(
        asked.log, terms_of(asked.actor, asked.body)
    ),
    "adjustments.adjust": lambda asked: adjustment_statement(asked.log, asked.body),
}
