"""Where a followed file is read up to, and how the source is.

Not here: reading (`reading`), the table that keeps a position (`gateway.feeds.live.kept`).
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field


class FilePosition(BaseModel):
    """Up to where a source is read; kept in the market's tables as JSON.

    Attributes:
        name: the file within a folder, or the file's own name; empty before the first.
        offset: bytes read, always behind the end of a line.
        line: lines read, with the header.
        mark: SHA-256 (hex) of the first and last bytes before the offset.
        header: the names of the columns, as the first line has them.
        counts: items counted by instrument, where no column numbers them.
        base: the counts where this file began.
        done: files of the folder that are read to their end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    offset: int = Field(default=0, ge=0)
    line: int = Field(default=0, ge=0)
    mark: str = ""
    header: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    base: dict[str, int] = Field(default_factory=dict)
    done: tuple[str, ...] = ()

    def again(self) -> "FilePosition":
        """Return the start of the same file."""
        return FilePosition(name=self.name, counts=self.base, base=self.base, done=self.done)

    def next_file(self, name: str) -> "FilePosition":
        """Return the start of the folder's next file."""
        done = (*self.done, self.name) if self.name else self.done
        return FilePosition(name=name, counts=self.counts, base=self.counts, done=done)


@dataclass(slots=True)
class FileState:
    """How a followed source is, for people; `said` has file and line.

    Attributes:
        source: its name.
        feed: bars, quotes or events.
        condition: `ok`, or what is wrong; `waiting` before the first look.
        line: the last line that was taken.
        items: items taken since the start.
        unread: bytes that are there and not taken.
        heard_us: when a line was taken last, monotonic; 0 before the first.
    """

    source: str
    feed: str
    condition: str = "waiting"
    said: str = "not read yet"
    line: int = 0
    items: int = 0
    unread: int = 0
    heard_us: int = 0

    @property
    def record_feed(self) -> str:
        """What a condition on record calls the feed."""
        return f"{self.feed} file"
