import re
from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.walk.failpoints import NAMES, arm, reach

ROOT = Path(__file__).resolve().parents[4]


def test_every_place_in_the_code_is_in_the_list_and_the_other_way_round() -> None:
    placed = {
        name
        for path in (ROOT / "gateway").rglob("*.py")
        for name in re.findall(r'reach\(\s*"([a-z_.]+)"', path.read_text())
    }
    assert placed == set(NAMES)


@pytest.mark.parametrize(
    "spec", ["nothing:kill@1", "settle.sealed", "settle.sealed:kill@0", "settle.sealed:stop@1"]
)
def test_a_wrong_spec_is_refused(spec: str) -> None:
    with pytest.raises(SettingsError):
        arm(spec)


def test_nothing_happens_unarmed() -> None:
    arm(None)
    for name in NAMES:
        reach(name)
