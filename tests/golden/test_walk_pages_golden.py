"""What the pages and `show` say of each scene of the walk, word by word, was fixed once.

Each page is told as the text that a person reads, without the frame that all pages have, which has
a file of its own; digests by where they were first seen.
"""

import html
import json
import re
from pathlib import Path
from typing import cast

import pytest

from audit.store.reader import LedgerReader
from gateway.evidence.explanation import decision_document
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_desk import page_desk
from tests.doubles.walk_scenes import DAYS, SCENES
from tests.doubles.walk_story import Story

PAGES = Path(__file__).parent / "walk_pages"
FRAME = "frame"
LONG = 12
_UNSEEN = re.compile(r"<(script|style|head)\b.*?</\1>|<[^>]*>", re.DOTALL)
_NOW = re.compile(r"\b20(?:19|[2-9]\d)-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?")
_CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\.\d+\b")
_SHORT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,63}\b|\b[0-9]{12}\b")
_SUM = re.compile(r"\|(9|10)=\d+(?=\|)")
_TOOK = re.compile(r"^\d[\d,.]* (?:ms|s|us)$", re.MULTILINE)


def parts(page: str) -> tuple[str, str]:
    """Return what a page itself shows, and the frame around it."""
    before, _, rest = page.partition('<main id="content">')
    inside, _, after = rest.partition("</main>")
    return inside, f"{before}\n(the page)\n{after}"


def seen(page: str) -> list[str]:
    """Return a text, a line for each piece between two tags."""
    text = html.unescape(_UNSEEN.sub("\n", page))
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    text = "\n".join(lines)
    for pattern, word in (
        (_NOW, "now"),
        (_CLOCK, "clock"),
        (_SHORT, "digest"),
        (_SUM, r"|\1=n"),
        (_TOOK, "a while"),
    ):
        text = pattern.sub(word, text)
    return text.splitlines()


def short(value: object) -> object:
    """Return a document with its long lists cut to their ends and their number."""
    match value:
        case dict():
            return {key: short(item) for key, item in value.items()}
        case list() if len(value) > LONG:
            return [short(value[0]), short(value[-1]), f"{len(value)} in all"]
        case list():
            return [short(item) for item in value]
        case _:
            return value


def told(desk: MemoryDesk, folder: Path) -> list[object]:
    """Return what is shown of every decision, of the book and of the list."""
    log = cast("LedgerReader", desk.log)
    browser = page_desk(folder, desk).browser("approver")
    story = Story()
    streams = dict.fromkeys(one.stream for one in desk.log.records())
    names = [one.partition("/")[2] for one in streams if one.startswith("decision/")]
    pages = ["/", "/positions", *(f"/decisions/{name}" for name in names)]
    found: list[object] = [
        story.after({"page": seen(parts(browser.get(page).raise_for_status().text)[0])})
        for page in pages
    ]
    for name in names:
        shown = decision_document(log, desk.small.table, name)
        found.append(story.after({"show": short(json.loads(json.dumps(shown)))}))
    return found


def compared(name: str, lines: list[str], request: pytest.FixtureRequest) -> None:
    """Compare with what was fixed once, or fix it."""
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    path = PAGES / f"{name}.json"
    if request.config.getoption("--rewrite-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert json.loads(text) == json.loads(path.read_text())


@pytest.mark.parametrize("name", [one for one in SCENES if one != DAYS])
def test_a_scene_is_shown_as_it_was(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    desk = memory_desk(tmp_path / "desk")
    SCENES[name](desk)
    lines = [json.dumps(one, sort_keys=True) for one in told(desk, tmp_path / "door")]
    compared(name, lines, request)


def test_the_frame_of_every_page_is_as_it_was(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Quiet; with a stop and a difference; and killed; for an officer, and for who only reads."""
    desk = memory_desk(tmp_path / "desk")
    pages = page_desk(tmp_path, desk)
    order, lines = desk.rest(), list[str]()
    for happens in (
        str,
        lambda: pages.press("operator", "/stops/pause", reason="golden"),
        lambda: desk.settled(desk.report(order, t31="999.00")),
        lambda: pages.press("operator", "/kill", reason="golden"),
    ):
        happens()
        for path, name in (("/orders", "approver"), ("/orders", "auditor"), ("/kill", "approver")):
            frame = seen(parts(pages.read(path, name))[1])
            lines.append(json.dumps({path: frame, "for": name}, sort_keys=True))
    compared(FRAME, lines, request)
