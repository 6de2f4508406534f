"""A ledger older than what a witness saw: the gateway refuses to go on from it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from audit.errors import LedgerUnsafeError, RowRefusedError
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from gateway.clock import wall_us
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.row_keys import permit_restored
from gateway.launch.parts import open_ledger
from gateway.launch.plan import Plan
from gateway.walk.projections.outbox import Orders
from tests.conftest import dsn_of
from tests.doubles.audit_log import note
from tests.doubles.live_desk import plan_for
from tests.doubles.witness_process import witness_process

pytestmark = pytest.mark.postgres
IMAGES = ("rollback_empty", "rollback_older")


def size_after_start(plan: Plan, dsn: str, *drafts: Draft, cosigned: bool = False) -> int:
    """Start the gateway's ledger as a run does, append, and return the last checkpoint's size."""
    with ExitStack() as stack:
        vault = Vault(plan.state.vault)
        ledger, reader, publishing = open_ledger(plan, stack, dsn, Orders(), vault)
        if drafts:
            ledger.append(*drafts)
        newest = ledger.checkpoint_now()
        assert newest is not None
        if cosigned:
            wait_for(
                lambda: reader.cosigned_after(newest.size - 1) is not None,
                20.0,
                part="cosignature",
            )
        assert publishing.parts()["tiles"] == "ready"
        return newest.size


def restored(known: int, size: int) -> Draft:
    """Draft what `restore --accept-older` puts on record."""
    return Draft(
        stream="control",
        kind=Kind.LEDGER_RESTORED,
        payload={
            "size": size,
            "root": "00" * 32,
            "known_size": known,
            "lost": known - size,
            "reason": "the disk was lost",
            "backup_sha256": "00" * 32,
        },
        actor="operator",
        idem_key=f"restored:{size}:{known}",
    )


def let_count(plan: Plan, dsn: str) -> None:
    """Let the rows count that a database holds now, as a restore does with its own."""
    reader = LedgerReader(dsn)
    head = reader.head()
    reader.close()
    permit_restored(plan.state, head.size, head.root)


def records_in(dsn: str) -> int:
    reader = LedgerReader(dsn)
    try:
        return sum(reader.kind_counts().values())
    finally:
        reader.close()


def image(dsn: str, name: str, admin: str) -> str:
    """Copy a database, as an image of its disk would keep it."""
    template = dsn.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(admin, autocommit=True) as connection:
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
    return dsn_of(dsn, name)


@pytest.fixture
def admin_dsn(postgres_dsn: str) -> Iterator[str]:
    """Who may copy databases; the copies are dropped afterwards."""
    admin = dsn_of(postgres_dsn, "postgres")
    yield admin
    with psycopg.connect(admin, autocommit=True) as connection:
        for name in IMAGES:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


def test_a_ledger_older_than_a_witness_remembers_does_not_start(
    postgres_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    plan = plan_for(tmp_path / "state")
    empty = image(postgres_dsn, IMAGES[0], admin_dsn)
    with witness_process(tmp_path / "w", [str(plan.signer.vkey)]) as process:
        ledger = plan.settings.ledger.model_copy(
            update={"witness_policy": tmp_path / "w" / "policy", "witness_timeout_s": 2.0}
        )
        plan = replace(plan, settings=plan.settings.model_copy(update={"ledger": ledger}))
        first = size_after_start(plan, postgres_dsn, note("1"), note("2"), cosigned=True)
        older = image(postgres_dsn, IMAGES[1], admin_dsn)
        seen = size_after_start(plan, postgres_dsn, note("3"), cosigned=True)
        assert seen > first
        for dsn, size in ((empty, 0), (older, first), (older, first)):
            before = records_in(dsn)
            with pytest.raises(LedgerUnsafeError) as refused:
                size_after_start(plan, dsn)
            assert str(refused.value) == (
                f"witness witness.example/ww has seen {seen}, this ledger has {size}:"
                " restore a newer backup"
            )
            assert records_in(dsn) == before, "nothing was written"
        config = LedgerConfig(dsn=empty, checkpoint_every_s=0)
        with Ledger.open(config, plan.signer, wall_us) as other:
            other.append(restored(seen - 1, 0))
        with pytest.raises(RowRefusedError, match="has no MAC"):  # of a restore that nobody made
            size_after_start(plan, empty)
        let_count(plan, empty)
        with pytest.raises(LedgerUnsafeError, match=f"has seen {seen}, this ledger has"):
            size_after_start(plan, empty)
        with Ledger.open(config, plan.signer, wall_us) as other:
            other.append(restored(seen, 0))
        let_count(plan, empty)
        assert size_after_start(plan, empty) > 0
        process.kill()
        let_count(plan, older)
        assert size_after_start(plan, older, note("alone")) > first
