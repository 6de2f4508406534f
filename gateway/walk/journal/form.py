"""The form of a ledger's records, which each run names in its opening; one form is read.

Not here: what the outsiders' verifiers make of other forms (they say what they cannot check).
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from audit.errors import CanonicalError
from audit.records.kinds import Kind
from gateway.errors import EarlierLedgerError

if TYPE_CHECKING:
    from audit.store.reader import LedgerReader

RECORD_RULES: Final = 7
"""The form of the records of a run, and of all runs of its ledger.

It rises with every change after which records are made or judged otherwise. A run without it is of
form 1.
"""


def refuse_earlier(reader: "LedgerReader") -> None:
    """Refuse a ledger whose first run is of an earlier form.

    Raises:
        EarlierLedgerError: it is; the message names the last commit that reads it.
    """
    for opening in reader.records(stream="control", kinds=(Kind.RUN_STARTED,), limit=1):
        with suppress(CanonicalError):  # an altered record is for those who verify the log to find
            refuse_form(opening.body.get("record_rules"))


def refuse_form(named: object) -> None:
    """Refuse what a run says of its form if it is an earlier one; raises as `refuse_earlier`."""
    form = named if type(named) is int else 1
    if form < RECORD_RULES:
        raise EarlierLedgerError(form=form)
