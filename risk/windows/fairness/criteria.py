"""The criteria of fairness as versioned data: who proposed them, who agreed, from when they count.

A firm sets its own criteria; until it has, those of the product count, which nobody signed off. A
run of the tests names the criteria by digest.

Protected terms name what a person is. They, and the proxies that are listed, may enter neither a
prompt nor the text of an intent. How terms are found in a text is in `risk.forms.terms`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from risk.forms.canonical import digest
from risk.forms.documents import document_of, value_of
from risk.forms.terms import is_findable

NOTICE_DAYS: Final = 14
"""Between the day on which criteria are agreed on and the first that they count for; our own."""
AGREED, OBJECTED = "agreed", "objected"
SIGNING: Final = ("risk", "compliance")
"""The roles whose agreement criteria need; others may agree or object."""
_ATTRIBUTES: Final = frozenset({"region", "sector", "side", "agent", "client"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """What one stakeholder said: `agreed` or `objected`, and the objection's text."""

    role: str
    who: str
    vote: str
    objection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessCriteria:
    """What is tested, and which words may not enter.

    Attributes:
        version: 1, 2, ..: a firm's criteria follow each other.
        proposer: Who proposed them.
        effective_day: The first day that they count for.
        attributes: What the window's tests compare.
        protected: Terms of protected attributes, folded.
        proxies: Terms that stand for one, folded.
    """

    version: int
    proposer: str
    effective_day: str
    attributes: tuple[str, ...]
    protected: tuple[str, ...]
    proxies: tuple[str, ...]
    signed_off: tuple[SignOff, ...]

    @property
    def terms(self) -> frozenset[str]:
        """Every term that may not enter."""
        return frozenset((*self.protected, *self.proxies))


PRODUCT: Final = FairnessCriteria(
    version=1,
    proposer="the product",
    effective_day="1970-01-01",
    attributes=("region", "sector", "side", "agent", "client"),
    protected=(
        *("age", "aged", "birth", "born", "caste", "citizen", "citizenship", "colour", "color"),
        *("disability", "disabled", "ethnic", "ethnicity", "female", "gay", "gender", "genetic"),
        *("genetics", "homosexual", "husband", "lesbian", "male", "marital", "married", "mother"),
        *("nationality", "pregnancy", "pregnant", "race", "racial", "religion", "religious"),
        *("sex", "sexual", "transgender", "wife", "woman", "women", "man", "men"),
        *("christian", "muslim", "jewish", "jew", "hindu", "buddhist", "sikh", "atheist"),
    ),
    proxies=(
        *("accent", "birthplace", "dialect", "forename", "maiden", "postcode", "surname"),
        *("zipcode", "neighbourhood", "neighborhood"),
    ),
    signed_off=(),
)


def criteria_digest(criteria: FairnessCriteria) -> str:
    """Return the digest of every field (hex SHA-256)."""
    return digest("countersign.fairness.criteria/1", document_of(criteria))


def criteria_of(document: object) -> FairnessCriteria:
    """Read criteria back.

    Raises:
        DocumentError: the document is not criteria.
    """
    return value_of(FairnessCriteria, document)


def criteria_faults(
    criteria: FairnessCriteria, before: FairnessCriteria, today: date
) -> tuple[str, ...]:
    """Return what keeps criteria from following those on record; nothing if they may.

    An objection keeps nothing back: it stays with the criteria, in the words of who made it.
    """
    return tuple(_faults(criteria, before, today))


def _faults(criteria: FairnessCriteria, before: FairnessCriteria, today: date) -> Iterator[str]:
    if criteria.version != before.version + 1:
        yield f"version {criteria.version} does not follow version {before.version}"
    try:
        effective = date.fromisoformat(criteria.effective_day)
    except ValueError:
        yield "effective_day is not a day: write 2026-12-24"
        effective = date.max
    if effective < today + timedelta(days=NOTICE_DAYS):
        yield f"effective_day is less than {NOTICE_DAYS} days from {today}"
    if effective.isoformat() <= before.effective_day:
        yield f"effective_day is not after that of version {before.version}"
    if not criteria.attributes or not _ATTRIBUTES.issuperset(criteria.attributes):
        yield f"attributes are some of {', '.join(sorted(_ATTRIBUTES))}"
    if bad := sorted(one for one in criteria.terms if not is_findable(one)):
        yield f"the term {bad[0]!r} is not one folded word"
    if not criteria.proposer.strip():
        yield "nobody is named as the proposer"
    yield from vote_faults(criteria)


def vote_faults(criteria: FairnessCriteria) -> Iterator[str]:
    """Yield what is wrong with the votes on criteria; nobody signs before nothing is."""
    votes = criteria.signed_off
    named = [one.who for one in votes if one.who.strip()]
    if len(named) < len(votes):
        yield "a vote does not say who voted: write the name into `who`"
    if len(set(named)) < len(named):
        yield "somebody votes twice"
    for one in votes:
        if one.vote not in {AGREED, OBJECTED}:
            yield f"`vote` of {one.who or one.role} is {AGREED} or {OBJECTED}, was {one.vote!r}"
        if (one.vote == OBJECTED) != bool(one.objection.strip()):
            yield f"an objection, and nothing else, has a text: {one.who}"
        if one.who == criteria.proposer and one.vote == AGREED:
            yield f"{one.who} proposes these criteria and cannot agree to them"
    agreed = {one.role for one in votes if one.vote == AGREED}
    for role in SIGNING:
        if role not in agreed:
            yield f"nobody of the role {role} agreed"
