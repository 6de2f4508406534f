"""Persons in broker messages: out of the text, into personal fields of its record.

Not here: which fields name a person (`fix.persons`), and how values are kept (`audit.vault`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from typing_extensions import override

from audit.errors import VaultError
from audit.personal import FIELD, Personal, fields_of
from audit.record import Draft
from audit.retention import Retention
from fix.persons import redacted, subject_at


class Persons(Protocol):
    """Who has which pseudonym."""

    def subject(self, name: str) -> str:
        """Return the pseudonym of a name; a new one is durable on return."""
        ...

    def named_in(self, text: str) -> str | None:
        """Return a known person that a text names."""
        ...


class Nobody(Persons):
    """Where no name may come: a message that brings one is refused, not recorded with it."""

    @override
    def subject(self, name: str) -> str:
        """Refuse."""
        raise VaultError("a message names a person, and there is no vault")

    @override
    def named_in(self, text: str) -> str | None:
        """Know nobody."""
        return None


NOBODY: Final = Nobody()


def hide(raw: str, persons: Persons) -> tuple[str, tuple[Personal, ...]]:
    """Return a message as it goes on record, and what was taken out of it.

    Raises:
        AuditError: a new pseudonym could not be kept.
    """
    done = redacted(raw, persons.subject, persons.named_in)
    return done.text, tuple(
        Personal(
            subject=one.subject, path=one.path, value=one.value, retention=Retention.ORDER.value
        )
        for one in done.named
    )


def as_recorded(draft: Draft, body: Mapping[str, Any], raw: str) -> Draft:
    """Return a recomputed draft with a record's own list of persons, held against its message.

    The values are not there to take the list from again; where they stood is.
    """
    fields = fields_of(body)
    whole = all(one.path == "raw" or subject_at(raw, one.path) == one.subject for one in fields)
    if not fields or not whole:
        return draft
    return replace(draft, payload={**draft.payload, FIELD: body[FIELD]})
