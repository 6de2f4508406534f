"""The reader processes of fsck: who stops asking them, as at Ctrl-C, waits for none of them."""

import multiprocessing
import os
import signal

import pytest

from audit.upkeep.fsck.database import DatabaseSnapshot
from audit.upkeep.fsck.readers import Inline, Readers
from tests.doubles.audit_spoiled import fill

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


def test_who_stops_asking_waits_for_no_reader_and_leaves_no_answer_behind(
    postgres_dsn: str,
) -> None:
    fill(postgres_dsn)
    tasks = [{"do": "nodes", "first": first, "stop": first + 4} for first in range(0, 24, 4)]
    snapshot = DatabaseSnapshot(postgres_dsn)
    expected = [*Inline(snapshot).ask(tasks)]
    with Readers(2, postgres_dsn, snapshot.export()) as readers:
        children = {int(p.name.rpartition("-")[2]): p for p in multiprocessing.active_children()}
        second = children[max(children)].pid or 0
        os.kill(second, signal.SIGSTOP)
        for found in readers.ask(tasks):
            assert found == expected[0]
            break
        os.kill(second, signal.SIGCONT)
        assert [*readers.ask(tasks)] == expected
    snapshot.close()
