"""What tests of the gateway against a real server share: a desk on a ledger of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from gateway.clock import wall_us
from inference.weights.registry import read_table
from tests.doubles.small_desk import SmallDesk, small_desk

TABLE_FILE = Path(__file__).parents[3] / "inference" / "models" / "pair_v1" / "table.safetensors"


@pytest.fixture
def desk(postgres_dsn: str, tmp_path: Path) -> Iterator[SmallDesk]:
    """A desk that has played two days, and traded nothing in the agents' account."""
    signer = FileSigner.generate(tmp_path / "ledger.key", "desk.test")
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    reader = LedgerReader(postgres_dsn)
    try:
        with Ledger.open(config, signer, wall_us) as ledger:
            made = small_desk(ledger, reader, tmp_path, read_table(TABLE_FILE.read_bytes()))
            made.play(2)
            yield made
    finally:
        reader.close()
