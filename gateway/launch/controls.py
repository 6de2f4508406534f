"""Functions that make the controls apart from the kill; see `app`."""

from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.durable.kill_word import KillWord
from gateway.desk.persons.cancel_all import CancelAll
from gateway.desk.persons.drill import Drills
from gateway.installation.children.fix import FixChild
from gateway.walk.projections.kill_times import newest_drill
from gateway.walk.projections.outbox import Orders


def make_controls(
    word: KillWord, fix: FixChild, ledger: Ledger, reader: LedgerReader, orders: Orders
) -> tuple[CancelAll, Drills]:
    """Return what cancels every order, and the drills with the newest on record."""

    def live() -> list[str]:
        return sorted(one.cl_ord_id for one in orders.live())

    drilled = newest_drill(reader)
    drills = Drills(word=word, child=fix, ledger=ledger, live=live, newest=drilled)
    return CancelAll(ledger, fix.sweep, live), drills
