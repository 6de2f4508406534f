"""What each scene of the walk leaves on record, field by field, was fixed once.

A field that is new is no difference; one that is gone, or says something else, is one.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.memory_desk import memory_desk
from tests.doubles.walk_scenes import DAYS, SCENES
from tests.doubles.walk_story import Story, missing

STORIES = Path(__file__).parent / "walk_stories"


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_leaves_what_it_left(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    desk = memory_desk(tmp_path, live=name != DAYS)
    start = desk.log.size
    SCENES[name](desk)
    story = Story()
    told = story.told(desk.log.records(after_seq=start - 1))
    told = json.loads(json.dumps([*told, story.after(desk.after())]))
    path = STORIES / f"{name}.json"
    if request.config.getoption("--rewrite-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in told)
        path.write_text(f"[\n{lines}\n]\n")
        return
    expected: Any = json.loads(path.read_text())
    assert [one.get("kind") for one in told] == [one.get("kind") for one in expected]
    assert missing(told, expected) == []
