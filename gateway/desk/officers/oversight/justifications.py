"""The registry of justifications: an economic reason why a proxy or region may move an order.

Rules:
- Both officers sign the terms for this ledger; the proposer's key is another person's.
- An entry lives 180 days at most. Another one may supersede it, both officers may end it; none is
  ever deleted.
- An entry has a name (`ref`) once: the same again changes nothing, other terms are refused.
"""

from collections.abc import Sequence
from typing import Any, Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.fairness import JustificationBody
from gateway.desk.bodies.oversight import EndRequest
from gateway.desk.controls.statements import refuse_unsigned
from gateway.desk.officers.oversight.ending import end_act, ends_of, refuse_ended
from gateway.desk.officers.oversight.swaps import recorded_swaps
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from gateway.walk.journal.control.oversight.justifications import (
    FairnessSources,
    JustificationEnded,
    JustificationEntered,
    JustificationTerms,
    justification_key,
)

LIFE_US: Final = 180 * 86_400_000_000
LISTED: Final = 200


def terms_of(actor: str, body: JustificationBody) -> JustificationTerms:
    """Return what the officers sign of an entry that this person proposes."""
    return JustificationTerms.read(
        {**body.model_dump(mode="json", exclude={"signatures"}), "proposer": actor}
    )


def enter_justification(own: DeskParts, actor: str, body: JustificationBody) -> dict[str, Any]:
    """Put an entry on record; every verdict after it reads it.

    Raises:
        RequestError: terms are wrong, a signature is missing, or the name is taken.
        AuditError: the ledger does not take it.
    """
    terms = terms_of(actor, body)
    earlier = own.reader.by_key("control", justification_key(body.ref))
    if earlier is not None:
        if JustificationEntered.of(earlier).terms != terms:
            raise RequestError(
                problem=f"{body.ref} is the name of record {earlier.seq}, with other terms: give"
                " another ref, and supersede it"
            )
        refuse_ended(own.reader, earlier, JustificationEnded, body.ref)
        return {"seq": earlier.seq, "again": True, **terms.document()}
    _refuse_terms(own, terms)
    log = log_id(own.reader, own.origin)
    entered = JustificationEntered(
        ref=body.ref,
        terms=terms,
        signatures={role: text for role, text in body.signatures.items() if role in SIGNING_ROLES},
        log_id=log,
        actor_name=actor,
    )
    refuse_unsigned(entered, log, own.keyring.public_keys())
    (record,) = own.tools.ledger.append(entered.draft())
    return {"seq": record.seq, "again": False, **terms.document()}


def end_justification(own: DeskParts, actor: str, ref: str, request: EndRequest) -> dict[str, Any]:
    """End an entry before its time; verdicts after it do not count it. Raises as `end_act`."""
    act = own.reader.by_key("control", justification_key(ref))
    return end_act(own, actor, ref, act, JustificationEnded, request)


def justifications(own: DeskParts) -> dict[str, Any]:
    """Return entries and swaps, newest first, whether each entry is in force, and the log id."""
    now_us, size = own.market.now_us(), own.reader.log_size()
    live = {one.ref for one in FairnessSources(own.reader).in_force(size - 1, now_us)}
    return {
        "log_id": log_id(own.reader, own.origin) if size else "",
        "justifications": _entries(own.reader, live),
        "swaps": recorded_swaps(own.reader),
    }


def _entries(reader: LedgerReader, live: set[str]) -> Sequence[dict[str, Any]]:
    records = reader.records(
        stream="control", kinds=(Kind.JUSTIFICATION_ENTERED,), newest_first=True, limit=LISTED
    )
    read = ((one.seq, one.leaf.hex(), JustificationEntered.of(one)) for one in records)
    ends = ends_of(reader, JustificationEnded)
    return [
        {
            "seq": seq,
            "leaf": leaf,
            "ended_seq": ends.get(seq),
            "in_force": one.ref in live,
            "signed_by": sorted(one.signatures),
            **one.terms.document(),
        }
        for seq, leaf, one in read
    ]


def _refuse_terms(own: DeskParts, terms: JustificationTerms) -> None:
    if terms.valid_to_us <= terms.valid_from_us:
        raise RequestError(problem="the entry ends before it begins")
    if terms.valid_to_us - terms.valid_from_us > LIFE_US:
        raise RequestError(problem="an entry is valid for 180 days at most; renew it then")
    families = own.section.policy.families
    lexicon = None if families is None else families.fairness
    sorts = {} if lexicon is None else {one.attribute: one.sort for one in lexicon.words}
    if not sorts:
        raise RequestError(
            problem="the policy in force has no lexicon (`fairness.words`), so rule R48 asks nobody"
            " and there is nothing to justify: put one into the next policy"
        )
    if sorts.get(terms.attribute) not in {"proxy", "region"}:
        raise RequestError(
            problem=f"{terms.attribute} is no proxy or region of the policy's lexicon; a protected"
            " attribute is never justified"
        )
    if own.section.policy.of_class(terms.asset_class) is None:
        raise RequestError(problem=f"the policy has no asset class {terms.asset_class}")
    if terms.supersedes and (
        own.reader.by_key("control", justification_key(terms.supersedes)) is None
    ):
        raise RequestError(problem=f"no entry is named {terms.supersedes}")
