"""Check the files that `serve` follows, through no running gateway.

Not here: following them (`gateway.launch.threads.files`).
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gateway.errors import IntakeError, SettingsError, SourcesError
from gateway.feeds.files.dropped import open_dropped
from gateway.feeds.files.reading import JSON_LINES, LINE_MAX, all_lines, files_of, is_parquet
from gateway.feeds.files.rows import columns_in, wanted_in
from gateway.feeds.files.sources import EXAMPLE, FollowedSource, read_sources
from gateway.installation.settings import Settings


def example_files() -> str:
    """Return a description of followed files that explains every field."""
    return EXAMPLE.read_text(encoding="utf-8")


def check_files(settings: Settings, file: Path | None) -> int:
    """Check a description and what it names; print it and return 0, or 1 with every fault.

    Raises:
        SettingsError: no file was named.
    """
    path = file or settings.feeds.files
    if path is None:
        problem = "is not set; name a file: countersign market check feeds.toml"
        raise SettingsError(name="COUNTERSIGN_FEEDS__FILES", problem=problem)
    try:
        sources = read_sources(path)
    except SourcesError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    faulty = 0
    for source in sources:
        found = list(wrong_with(source))
        faulty += bool(found)
        said = "; ".join(found) or "good"
        sys.stdout.write(f"{source.name:16} {source.feed:7} {source.path}: {said}\n")
    return int(faulty > 0)


def wrong_with(source: FollowedSource) -> Iterator[str]:
    """Yield what is wrong with the files of a source: not there, not readable, other columns."""
    try:
        names = files_of(source.path)
    except OSError as error:
        yield f"{source.path}: {error.strerror}"
        return
    folder = source.path.is_dir()
    for path in [source.path / name if folder else source.path for name in names]:
        try:
            if is_parquet(path):
                yield from _wrong_with_rows(source, path)
                continue
            with open_dropped(path) as file:
                first = file.readline(LINE_MAX)
            if first.endswith(b"\n") and path.suffix.lower() not in JSON_LINES:
                columns_in(source, first.removesuffix(b"\n"))
        except OSError as error:
            yield f"{path}: {error.strerror}"
        except IntakeError as error:
            yield f"{path} line 1, {error}"


def _wrong_with_rows(source: FollowedSource, path: Path) -> Iterator[str]:
    try:
        for line in all_lines(path, wanted_in(source)):
            if not line.number and isinstance(line.content, tuple):
                columns_in(source, line.content)
    except IntakeError as error:
        yield f"{path}, {error}"
