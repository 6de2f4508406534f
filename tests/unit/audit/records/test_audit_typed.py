"""A class of fields is read for the first time by any number of threads at once."""

import subprocess
import sys

import pytest

from audit.records.typed import TypedFields, reader_of
from risk.state.state import KillState

# A process of its own: what is shown is that it does not end by a segmentation fault.
FIRST_READS = """
import sys, threading
from enum import StrEnum
from audit.records.typed import TypedFields

sys.setswitchinterval(1e-6)
value = {"count": 1, "word": "w1", "inner": {"word": "w2"}}
for _ in range(150):
    Word = StrEnum("Word", {f"W{n}": f"w{n}" for n in range(8)})
    class Inner(TypedFields, frozen=True, kw_only=True):
        word: Word
    class Outer(TypedFields, frozen=True, kw_only=True):
        count: int
        word: Word
        inner: Inner
    together = threading.Barrier(3)
    def read():
        together.wait()
        assert Outer.read(value).inner.word == "w2"
    threads = [threading.Thread(target=read) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
"""


def test_threads_that_read_a_class_first_end_no_process() -> None:
    """A library prepares a class at its first read, outside of any lock."""
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_READS], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


class _Two(TypedFields, frozen=True, kw_only=True):
    first: int
    second: str = "none"


def test_what_is_missing_or_of_another_type_is_refused() -> None:
    """Fields that the class does not name are left."""
    assert _Two.read({"first": 1, "third": True}) == _Two(first=1)
    for wrong in ({}, {"first": "1"}, {"first": 1, "second": 2}):
        with pytest.raises(ValueError, match="`"):
            _Two.read(wrong)
    with pytest.raises(ValueError, match="killed"):
        reader_of(KillState)({})
