"""A pytest plugin that notes which lines each test runs, how long it takes, and whether it passes.

`-p scripts.mutation.recorder` loads it before any of our modules, so that lines run only by an
import belong to no test. Child processes are not followed: `tests_of.CHILDREN` names their tests.
"""

import json
import os
import warnings
from pathlib import Path

import coverage
import pytest

DATA = "MUTATE_DATA"
"""Environment variable: path of the coverage data; the results get the same path and `.json`."""

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
    """Attribute what runs from here on to this test."""
    _measured.switch_context(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up a test's time, and remember a failure."""
    _times[report.nodeid] = _times.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Save the coverage data and the times of passed tests."""
    _measured.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a chunk whose tests use none of the rooms has no data
        _measured.save()
    passed = {name: time for name, time in _times.items() if name not in _failed}
    Path(os.environ.get(DATA, ".coverage") + ".json").write_text(json.dumps(passed))
