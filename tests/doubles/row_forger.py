"""What somebody with the database's password alone can write: rows that every proof confirms.

No key file is read; the public half of the log's key is enough to take over the position.
"""

from audit.batch import Builder
from audit.keys import Signer
from audit.lanes import Append
from audit.record import Draft, Record, prepare
from audit.recovery import position_of
from audit.store import Head, Store
from audit.watchdog import Watchdog


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
            head = Head(
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
