"""What somebody with the database's password alone can write: rows that every proof confirms.

No key file is read; the public half of the log's key is enough to take over the position.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from audit.privacy.vault import Vault
from audit.records.canonical import JSON
from audit.records.kinds import KINDS, Kind, StreamClass
from audit.records.record import Draft, Record, prepare
from audit.sequencer.batch import Builder
from audit.sequencer.lanes import Append
from audit.sequencer.ledger import Ledger
from audit.sequencer.recovery import position_of
from audit.signers.file import Signer
from audit.store.connection import LogHead, Store
from audit.store.reader import LedgerReader
from audit.store.watchdog import Watchdog
from gateway.launch.parts import open_ledger
from gateway.launch.plan import Plan
from gateway.walk.projections.outbox import Orders
from tests.doubles.live_desk import plan_for

NAMES = {StreamClass.CONTROL: "", StreamClass.MARKET: "X", StreamClass.SESSION: "x"}


def forge(dsn: str, signer: Signer, *drafts: Draft) -> tuple[Record, ...]:
    """Append rows as the sequencer would, chained and in the tree, without their MAC."""
    watchdog = Watchdog()
    try:
        store = Store(dsn, signer.vkey.name, 5.0, watchdog)
        try:
            position, _ = position_of(store, [signer])
            builder = Builder(position, {}, position.recorded_at_us + 1)
            for draft in drafts:
                builder.add(Append(prepared=(prepare(draft),)))
            rows = builder.finish().rows
            head = LogHead(
                origin=signer.vkey.name,
                size=builder.frontier.size,
                root=builder.frontier.root(),
                frontier=builder.frontier.to_bytes(),
                fence=store.head.fence,
            )
            assert store.commit(rows, head)
        finally:
            store.close()
    finally:
        watchdog.close()
    return tuple(row.record for row in rows)


def forged(kind: Kind, **fields: JSON) -> Draft:
    """Draft a record of any kind, as far as a database looks at one; with some fields' values."""
    spec = KINDS[kind]
    known: dict[str, JSON] = {"account": "r1.agent", "run_id": "r1", "mode": "paper", "dev": True}
    payload = {name: known.get(name) for name in spec.fields} | fields
    return Draft(
        stream=spec.stream.value + NAMES.get(spec.stream, "forged"),
        kind=kind,
        payload=payload,
        actor="gateway",
        idem_key=f"forged:{kind}",
    )


@contextmanager
def started(plan: Plan, dsn: str) -> Iterator[tuple[Ledger, LedgerReader, Orders]]:
    """Open the ledger as a start does; what it yields is what everything else folds from."""
    with ExitStack() as stack:
        orders = Orders()
        ledger, reader, _ = open_ledger(plan, stack, dsn, orders, Vault(plan.state.vault))
        yield ledger, reader, orders


def plan_on(state: Path, dsn: str) -> Plan:
    made = plan_for(state)
    ledger = made.settings.ledger.model_copy(update={"dsn": dsn})
    return replace(made, settings=made.settings.model_copy(update={"ledger": ledger}))
