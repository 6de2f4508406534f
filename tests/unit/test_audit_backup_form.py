"""What a backup says of itself is of the right types, or it is no backup."""

import gzip
import io
import json

import pytest

from audit.backup import ABOUT, FORMAT, read_backup
from audit.errors import BackupError


@pytest.mark.parametrize(
    ("name", "value"), [("origin", ["x"]), ("size", True), ("size", None), ("taken_at_us", "x")]
)
def test_a_wrongly_typed_word_about_itself_is_refused(name: str, value: object) -> None:
    right = {"type": ABOUT, "format": FORMAT, "origin": "x", "size": 1, "taken_at_us": 2}
    good, bad = (json.dumps(row).encode() + b"\n" for row in (right, {**right, name: value}))
    assert next(read_backup(io.BytesIO(gzip.compress(good))))[0] == ABOUT
    with pytest.raises(BackupError, match="other types"):
        next(read_backup(io.BytesIO(gzip.compress(bad))))
