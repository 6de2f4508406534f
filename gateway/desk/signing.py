"""What both officers sign of an act, by its name, and their signatures.

The same statement functions judge the signatures when the act is asked for.

Not here: statements of more than one step, whose verbs are by hand (overrides, criteria, modes).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.desk.controls.statements import signed_text
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.desk.officers.oversight.justifications import terms_of
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.walk.journal.control.oversight.ends import ActEnded
from gateway.walk.journal.control.oversight.justifications import (
    JustificationEnded,
    JustificationEntered,
)
from gateway.walk.journal.control.oversight.publications import PublicationEnded


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


def _end(end: type[ActEnded], listed: str) -> Callable[[AskedToSign], bytes]:
    """Return what makes the statement that ends an act; `listed` names the acts in the read."""

    def signed(asked: AskedToSign) -> bytes:
        ref = asked.ids["ref"]
        act = next((one for one in asked.read[listed] if one["ref"] == ref), None)
        if act is None:
            raise RequestError(problem=f"none of the {listed} on record is named {ref}")
        ended = end(
            ref=ref,
            of_seq=act["seq"],
            of_leaf=act["leaf"],
            reason=asked.body.reason,
            signatures={},
            ended_by=asked.actor,
        )
        return signed_text(ended, asked.log)

    return signed


def _justification(asked: AskedToSign) -> bytes:
    terms = terms_of(asked.actor, asked.body)
    entered = JustificationEntered(
        ref=terms.ref, terms=terms, signatures={}, log_id=asked.log, actor_name=asked.actor
    )
    return signed_text(entered, asked.log)


SIGNED: Final[Mapping[str, Callable[[AskedToSign], bytes]]] = {
    "publications.end": _end(PublicationEnded, "publications"),
    "justifications.enter": _justification,
    "justifications.end": _end(JustificationEnded, "justifications"),
    "adjustments.adjust": lambda asked: adjustment_statement(asked.log, asked.body),
}
