"""The simulated broker's own file of fills, from what its capture says that it sent.

    python -m fix.simulator.fills FOLDER FILE

A gateway's records play no part in it, so it is a witness (`countersign verify --broker-fills`).
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from fix.simulator.control import read_capture
from fix.wire.messages import parse

COLUMNS = {
    "cl_ord_id": 11,
    "orig_cl_ord_id": 41,
    "exec_id": 17,
    "exec_type": 150,
    "exec_ref_id": 19,
    "account": 1,
    "instrument": 55,
    "side": 54,
    "quantity": 32,
    "price": 31,
    "fee": 12,
    "time": 60,
}
"""The file's columns and the tags that they come from."""
_TRADES = frozenset("FGH")


def write_fill_file(capture: Path, path: Path) -> int:
    """Write the trades, busts and corrections of a capture as CSV; return how many lines."""
    rows = []
    for captured in read_capture(capture):
        if captured.direction != "out" or captured.msg_type != "8":
            continue
        fields = dict(parse(captured.raw))
        if fields.get(150) in _TRADES and fields.get(43) != "Y":
            rows.append([fields.get(tag, "") for tag in COLUMNS.values()])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return len(rows)


def main(words: Sequence[str]) -> int:
    """Write the file that the command line names."""
    folder, path = map(Path, words)
    lines = write_fill_file(folder / "capture.jsonl", path)
    sys.stdout.write(f"{lines} lines written to {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
