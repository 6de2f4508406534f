"""Names of persons in broker messages: out of the text, into personal fields of its record.

Not here: which fields name a person (`fix.wire.persons`), and how values are kept
(`audit.privacy.vault`).
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from typing_extensions import override

from audit.errors import VaultError
from audit.privacy.retention import Retention
from audit.records.personal import FIELD, Field, Personal, fields_of
from audit.records.record import Draft
from fix.wire.persons import redacted, subject_at


class Persons(Protocol):
    """The pseudonyms of persons; a new one is durable on return."""

    def subject(self, name: str) -> str:
        """Return the pseudonym of a name."""
        ...

    def subject_of_words(self, text: str) -> str:
        """Return the pseudonym of words that may name a person."""
        ...

    def named_in(self, text: str) -> str | None:
        """Return a known person that a text names, or None."""
        ...


class Nobody(Persons):
    """For messages that may name nobody: one with a name is refused."""

    @override
    def subject(self, name: str) -> str:
        raise VaultError("a message names a person, and there is no vault")

    @override
    def subject_of_words(self, text: str) -> str:
        raise VaultError("a message has a field that may name a person, and there is no vault")

    @override
    def named_in(self, text: str) -> str | None:
        return None


class Recorded(Persons):
    """For messages from the record, which hold pseudonyms."""

    @override
    def subject(self, name: str) -> str:
        return name

    @override
    def subject_of_words(self, text: str) -> str:
        return text

    @override
    def named_in(self, text: str) -> str | None:
        return None


RAW_MAX: Final = 8_192
"""Longest message that surely fits its record, characters; of a longer one the start goes in."""
NOBODY: Final = Nobody()
RECORDED: Final = Recorded()


def hide(
    raw: str, persons: Persons, public: Collection[int] = ()
) -> tuple[str, tuple[Personal, ...]]:
    """Return a message as it goes on record, and the values taken out of it.

    The broker's profile declares the `public` fields, which name no person.

    Raises:
        AuditError: when a new pseudonym cannot be kept.
    """
    if persons is RECORDED:
        return raw, ()
    done = redacted(
        raw, persons.subject, persons.named_in, words=persons.subject_of_words, public=public
    )
    return done.text, tuple(
        Personal(
            subject=one.subject, path=one.path, value=one.value, retention=Retention.ORDER.value
        )
        for one in done.named
    )


def as_recorded(draft: Draft, body: Mapping[str, Any]) -> Draft:
    """Return a recomputed draft with the record's list of persons, if the list fits the draft."""
    return replace(draft, payload=with_fields(draft.payload, body))


def with_fields(payload: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recomputed payload with the recorded list of persons, if the list fits it.

    The values are gone, so the list cannot be computed again; the places of the pseudonyms can.
    """
    fields = fields_of(body)
    fits = fields and all(_stands(payload, one) for one in fields)
    return {**payload, FIELD: body[FIELD]} if fits else dict(payload)


def _stands(payload: Mapping[str, Any], field: Field) -> bool:
    """Return whether a personal field's pseudonym stands at its place."""
    name, _, rest = field.path.partition("/")
    if name == "raw":
        raw = str(payload.get(name))
        cut = len(raw) >= RAW_MAX  # the record has the message's beginning only
        return cut or (
            field.subject in (subject_at(raw, field.path) or "") if rest else field.subject in raw
        )
    found: Any = payload
    for part in field.path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return bool(found == field.subject)
