"""Fill what is missing from a file, through the running gateway.

Not here: whether an item may fill (`gateway.feeds.live.filling`), following a file.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from gateway.errors import IntakeError, RequestError
from gateway.feeds.files.reading import (
    JSON_LINES,
    LINE_MAX,
    FileLine,
    all_lines,
    is_parquet,
    unit_of,
)
from gateway.feeds.files.rows import columns_in, item_in, object_in, wanted_in
from gateway.feeds.files.sources import TIME_NAMES, FollowedSource, plain_source, read_sources
from gateway.feeds.live.items import BARS
from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.telemetry.console import Progress

WITHIN_S: Final = 60.0
ITEMS: Final = 400
BYTES: Final = 48_000
"""Of one request; bodies have at most 64 KiB."""
_ITEM: Final = re.compile(r"\bitem (\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedItem:
    """An item as posted, and its line (of Parquet: row) in the file."""

    line: int
    value: dict[str, Any]


def fill_from(settings: Settings, file: Path, name: str, feed: str, *, check: bool) -> int:
    """Check the whole file against what stands, then fill what is missing; return 0.

    The source's columns are those of the description of followed files, if it is there.

    Raises:
        RequestError: a line is wrong or contradicts what stands; names it. Nothing was taken.
    """
    source = _source(settings, file, name, feed)
    items = list(file_items(source, file))
    if feed == BARS:
        _refuse_disorder(source, file, items)
    digest = sha256(file.read_bytes()).hexdigest()
    asked = {"feed": feed, "file": file.name, "digest": digest}
    progress = Progress(sys.stdout)
    found: dict[str, int] = {}
    missing: dict[str, int] = {}
    for stage in ("checking", "filling")[: 1 if check else 2]:
        found = {"new": 0, "repeats": 0}
        done = 0
        for batch in _batches(items):
            body = {**asked, "check": stage == "checking", "items": [one.value for one in batch]}
            told = _post(settings, file, batch, body)
            found = {name: count + told[name] for name, count in found.items()}
            missing |= told["missing"]
            done += len(batch)
            progress.tenth(stage, done, len(items), file.name)
        if stage == "checking" and not found["new"]:
            break
    progress.end()
    said = "would be filled" if check else "filled"
    sys.stdout.write(f"{found['new']} {feed} {said}, {found['repeats']} stood already\n")
    for instrument, count in sorted(missing.items()):
        if count:
            sys.stdout.write(f"{instrument}: {count} bars of {name} are still missing\n")
    return 0


def _source(settings: Settings, file: Path, name: str, feed: str) -> FollowedSource:
    described = () if settings.feeds.files is None else read_sources(settings.feeds.files)
    mine = (one for one in described if (one.name, one.feed) == (name, feed))
    return next(mine, plain_source(name, feed, file))


def file_items(source: FollowedSource, file: Path) -> Iterator[NumberedItem]:
    """Yield the items of a file; those without a sequence are counted by instrument.

    Raises:
        RequestError: a line cannot be read; names it.
        OSError: the file cannot be read.
    """
    names: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    comma = file.suffix.lower() not in JSON_LINES
    for line in _lines(source, file):
        content = line.content
        if content is None:
            raise RequestError(problem=f"{file} {unit_of(file)} {line.number}: longer than 64 KiB")
        if isinstance(content, bytes) and not content.strip():
            continue
        try:
            if comma and not names:
                names = columns_in(source, content)
                continue
            json_line = content if isinstance(content, bytes) and not comma else b""
            value = object_in(source, json_line) if json_line else item_in(source, names, content)
        except IntakeError as error:
            at = f"{unit_of(file)} {line.number}" if line.number else "columns"
            raise RequestError(problem=f"{file} {at}, {error}") from None
        about = str(value.get("instrument"))
        if "complete_us" not in value:
            counts[about] = counts.get(about, 0) + 1
            value.setdefault("sequence", counts[about])
        yield NumberedItem(line=line.number, value=value)


def _lines(source: FollowedSource, file: Path) -> Iterator[FileLine]:
    if not is_parquet(file):
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                content = line.removesuffix(b"\n")
                short = content if len(content) <= LINE_MAX else None
                yield FileLine(number=number, end=0, content=short)
        return
    try:
        yield from all_lines(file, wanted_in(source))
    except IntakeError as error:
        raise RequestError(problem=f"{file}, {error}") from None


def _refuse_disorder(source: FollowedSource, file: Path, items: list[NumberedItem]) -> None:
    """Refuse bars of one instrument that do not close in the order of their sequences.

    Raises:
        RequestError: names the line.
    """
    time = TIME_NAMES[source.feed]
    by_instrument: dict[str, list[NumberedItem]] = {}
    for one in items:
        if type(one.value.get("sequence")) is int and type(one.value.get(time)) is int:
            by_instrument.setdefault(str(one.value.get("instrument")), []).append(one)
    for name, mine in by_instrument.items():
        mine.sort(key=lambda one: one.value["sequence"])
        for before, after in pairwise(mine):
            if before.value != after.value and before.value[time] >= after.value[time]:
                unit = unit_of(file)
                said = f"{name} does not close after {unit} {before.line}, whose sequence is lower"
                raise RequestError(problem=f"{file} {unit} {after.line}: {said}")


def _batches(items: list[NumberedItem]) -> Iterator[list[NumberedItem]]:
    batch: list[NumberedItem] = []
    size = 0
    for one in items:
        length = len(json.dumps(one.value))
        if batch and (len(batch) == ITEMS or size + length > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length + 2
    if batch:
        yield batch


def _post(
    settings: Settings, file: Path, batch: list[NumberedItem], body: dict[str, Any]
) -> dict[str, Any]:
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token("operator")
    answer = post(state, "/v1/market/backfill", json.dumps(body), token, WITHIN_S)
    if not (said := answer.refused):
        return answer.document
    for fault in answer.document.get("faults", []):
        said = f"{fault['field']}: {fault['message']}"
        break
    if (found := _ITEM.search(said)) and 0 < int(found[1]) <= len(batch):
        line = batch[int(found[1]) - 1].line
        said = f"{file} {unit_of(file)} {line}{said[found.end() :]}"
    raise RequestError(problem=said)
