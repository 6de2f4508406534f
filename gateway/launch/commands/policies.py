"""A policy's draft for a table of instruments. Not here: numbers and signatures (`policies/`)."""

from dataclasses import replace
from pathlib import Path

from gateway.feeds.instruments.table import InstrumentTable, read_table
from gateway.installation.policies.policy_files import DraftOptions, new_policy
from gateway.installation.policies.sections import TradedInstrument


def draft_policy(
    path: Path, source: Path | None, options: DraftOptions, instruments: Path | None
) -> int:
    """Write a draft that names exactly the instruments of a table, if one is given.

    Raises:
        RequestError: the file exists, or `source` holds no policy.
        InstrumentsError: the table cannot be read, or has faults.
    """
    if instruments is not None:
        options = replace(options, traded=traded_of(read_table(instruments)))
    return new_policy(path, source, options)


def traded_of(table: InstrumentTable) -> tuple[TradedInstrument, ...]:
    """Return what a policy must name of a table's instruments."""
    return tuple(
        TradedInstrument(
            symbol=one.instrument.symbol,
            asset_class=one.instrument.asset_class,
            max_qty=one.max_qty,
        )
        for one in table.listings
    )
