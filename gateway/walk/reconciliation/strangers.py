"""Messages about orders at the broker that are not ours: told apart and put on record. Pure.

An order whose ClOrdID is not in our form can only be somebody else's, unless the broker reports it
under an OrderID (37) that one of ours has. It is recorded and shown; it changes no book and no
state, and blocks nothing, unless the profile says so. Not here: the form (`fix.orders.foreign`).
"""

from collections.abc import Callable, Mapping

from audit.records.record import Draft
from fix.dialects.profile import ForeignTreatment
from fix.orders.foreign import is_foreign
from fix.wire.identity import has_our_form
from fix.wire.reports import CancelReject, ExecutionReport
from gateway.walk.journal.foreign import foreign_reported
from gateway.walk.projections.standing import Standing
from gateway.walk.reconciliation.cancel_ends import SaidAt

_CL_ORD_ID, _ORIG_CL_ORD_ID = 11, 41


def told_by_stranger(
    said: ExecutionReport | CancelReject,
    ours: Callable[[str], Standing | None],
    treatment: ForeignTreatment,
    at: SaidAt,
) -> Draft | None:
    """Return the record of a message about a foreign order; None if the order may be ours.

    `ours` returns the order of ours that has an OrderID at the broker.
    """
    if not is_foreign(said) or (said.order_id and ours(said.order_id) is not None):
        return None
    return foreign_reported(at.session, said, offset=at.offset, treatment=treatment)


def unknown_order(
    report: ExecutionReport,
    why: Draft,
    ours: Callable[[str], Standing | None],
    treatment: ForeignTreatment,
    at: SaidAt,
    *,
    old: bool,
) -> tuple[Draft, ...]:
    """Return the drafts of a report about no order that is on record.

    `why` says that the order is unknown. An `old` report is older than the record.
    """
    if report.finds_nothing:
        return ()  # the answer to a mass status request: there is no order
    told = told_by_stranger(report, ours, treatment, at)
    if told is None:
        return (why,)
    return (() if old else (told,)) + ((why,) if treatment is ForeignTreatment.BLOCK else ())


def names_stranger(tags: Mapping[int, str]) -> bool:
    """Return whether a message names an order, and by no ClOrdID that could be ours."""
    names = [tags[tag] for tag in (_CL_ORD_ID, _ORIG_CL_ORD_ID) if tags.get(tag)]
    return bool(names) and not any(map(has_our_form, names))
