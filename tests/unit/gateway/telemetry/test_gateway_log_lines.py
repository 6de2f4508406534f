"""What an operator's screen shows: our own sentences, not a driver's about a session cut."""

import subprocess
import sys

PROGRAM = """
import logging
from gateway.telemetry.console import log_to_stderr
log_to_stderr({level!r})
logging.getLogger("psycopg").warning("error ignored in rollback: server closed the connection")
logging.getLogger("psycopg").error("a fault")
logging.getLogger("gateway").warning("the database answers again")
"""


def shown(level: str) -> str:
    program = PROGRAM.format(level=level)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stderr


def test_a_session_that_is_lost_is_told_once_in_our_words() -> None:
    lines = shown("INFO").splitlines()
    assert lines == ["ERROR psycopg a fault", "WARNING gateway the database answers again"]


def test_at_debug_the_drivers_warnings_are_shown() -> None:
    assert "error ignored in rollback" in shown("DEBUG")
