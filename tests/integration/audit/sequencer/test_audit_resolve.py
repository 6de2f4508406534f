"""A sequencer that lost the log never answers that a key is on no record."""

import psycopg
import pytest

from audit.errors import LedgerError
from audit.sequencer.ledger import Ledger, LedgerConfig
from tests.doubles.audit_log import SIGNER, TIME_US, note, refused

pytestmark = pytest.mark.postgres
END_SQL = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE application_name = 'countersign-sequencer' AND datname = current_database()"
)


def opened(dsn: str) -> Ledger:
    config = LedgerConfig(dsn=dsn, checkpoint_every_s=0)
    return Ledger.open(config, SIGNER, lambda: TIME_US)


def test_a_key_of_a_stream_that_it_does_not_know_is_asked_for(postgres_dsn: str) -> None:
    draft = refused("new")
    with opened(postgres_dsn) as lost:
        lost.append(note("a"))
        assert lost.resolve(draft.stream, draft.idem_key) is None
        with psycopg.connect(postgres_dsn, autocommit=True) as admin:
            admin.execute(END_SQL)
        with opened(postgres_dsn) as other:
            other.append(draft)
        with pytest.raises(LedgerError):
            lost.resolve(draft.stream, draft.idem_key, timeout_s=10.0)
        assert lost.stopped is not None
