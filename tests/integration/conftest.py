"""What several tests against a real server share."""

from collections.abc import Iterator

import pytest

from audit.store.catalog import TABLES
from audit.store.tables import connect
from tests.doubles.audit_spoiled import Spoiled, disarm, fill


@pytest.fixture
def spoiled(postgres_dsn: str) -> Iterator[Spoiled]:
    """A log without its guards, and whoever does as he likes; in `public`, tables as they were."""
    fill(postgres_dsn)
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        for table in TABLES:
            admin.execute(f"CREATE TABLE public.{table} AS TABLE ledger.{table}".encode())
        yield postgres_dsn, admin
