"""Check and show a table of instruments. Not here: what a field may hold (`feeds/instruments`)."""

import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final

from gateway.errors import InstrumentsError, SettingsError
from gateway.feeds.instruments.table import EXAMPLE, InstrumentTable, read_table
from gateway.installation.settings import Settings
from gateway.walk.journal.run import Listing
from risk.forms.money import minor_digits

_HEAD: Final = (
    *("symbol", "class", "currency", "tick", "lot", "min", "max"),
    *("calendar", "mic", "isin", "issuer"),
)


def check_table(settings: Settings, file: Path | None) -> int:
    """Print how many instruments a table has and its digest; return 1 when it has errors.

    Raises:
        SettingsError: no table is named.
    """
    return _told(settings, file, _counted)


def show_table(settings: Settings, file: Path | None) -> int:
    """Print a table, a line for each instrument; return 1 when it has errors.

    Raises:
        SettingsError: no table is named.
    """
    return _told(settings, file, _lines)


def example_table() -> str:
    """Return the example table."""
    return EXAMPLE.read_text(encoding="utf-8")


def _told(settings: Settings, file: Path | None, told: Callable[[InstrumentTable], str]) -> int:
    chosen = file or settings.instruments
    if chosen is None:
        raise SettingsError(
            name="COUNTERSIGN_INSTRUMENTS", problem="is not set; set it, or name a file"
        )
    try:
        table = read_table(chosen)
    except InstrumentsError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return 1
    sys.stdout.write(told(table))
    return 0


def _counted(table: InstrumentTable) -> str:
    count = f"{len(table.listings)} instrument{'s' * (len(table.listings) != 1)}"
    return f"{count}, no errors, sha256 {table.digest}\n"


def _lines(table: InstrumentTable) -> str:
    """Return the table with columns as wide as their longest cell, and its count."""
    cells = [_HEAD, *map(_row, table.listings)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    return "\n".join((*lines, _counted(table)))


def _row(listing: Listing) -> tuple[str, ...]:
    units = listing.instrument
    tick = Decimal(units.tick_minor).scaleb(-minor_digits(units.currency))
    numbers = (f"{tick:f}", units.lot, units.min_qty, listing.max_qty)
    named = (listing.calendar, listing.mic, listing.isin, listing.issuer)
    return (
        *(units.symbol, units.asset_class, units.currency),
        *map(str, numbers),
        *(one or "-" for one in named),
    )
