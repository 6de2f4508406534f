"""A pytest plugin that notes which lines each test runs, how long it takes, and whether it passes.

Loaded by `-p scripts.mutation.recorder` before any of our modules, so that imports count too: lines
that only an import runs belong to no test. Children of a test are not followed; who tests what runs
in them is said by `tests_of.CHILDREN`.
"""

import json
import os
import warnings
from pathlib import Path

import coverage
import pytest

DATA = "MUTATE_DATA"
"""Environment: where the coverage data goes; the results lie beside it, as `.json`."""

_measured = coverage.Coverage(
    data_file=os.environ.get(DATA, ".coverage"),
    config_file=False,
    source_pkgs=["gateway", "risk", "fix", "inference"],
    messages=False,
)
_measured.start()
_times: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Let what runs from here on belong to this test."""
    _measured.switch_context(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up a test's time and remember that it failed."""
    _times[report.nodeid] = _times.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Save."""
    _measured.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a chunk whose tests use none of the rooms has no data
        _measured.save()
    passed = {name: time for name, time in _times.items() if name not in _failed}
    Path(os.environ.get(DATA, ".coverage") + ".json").write_text(json.dumps(passed))
