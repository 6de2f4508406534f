"""Sign and send adjustments of a book, through the running gateway."""

import csv
import hashlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from gateway.desk.bodies.booking import AdjustRequest
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 5.0
COLUMNS: Final = ["instrument", "quantity", "price"]
CASH: Final = "CASH"


def adjust_book(
    settings: Settings, request: AdjustRequest, key_files: Mapping[str, Path | None]
) -> int:
    """Sign an adjustment with both roles' keys and record it; return the exit code.

    Raises:
        RequestError: the gateway refused it.
        SettingsError: a key file holds no key.
    """
    state = StateFolder.of(settings)
    keyring = Keyring(state.keys)
    token = keyring.token("operator")
    found: dict[str, Any] = get(state, "/v1/adjustments", token, WITHIN_S).granted()
    signed = adjustment_statement(str(found["log_id"]), request)
    signatures = {
        role: role_key(keyring, role, key_files.get(role)).sign(signed).hex()
        for role in SIGNING_ROLES
    }
    request = request.model_copy(update={"signatures": signatures})
    body = json.dumps(request.model_dump(mode="json"))
    done: dict[str, Any] = post(state, "/v1/adjustments", body, token, WITHIN_S).granted()
    seqs = ", ".join(str(seq) for seq in done["seqs"])
    again = "was recorded before" if done["again"] else "is recorded"
    sys.stdout.write(f"{request.sort} {request.ref} {again}: record {seqs}\n")
    return 0


def adjustment_from(given: Mapping[str, object]) -> AdjustRequest:
    """Return the request from command-line options.

    Raises:
        RequestError: an option is malformed.
    """
    try:
        return AdjustRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RequestError(problem=f"{where}: {first['msg']}") from None


def opening_from(path: Path, account: str, day: str, reason: str) -> AdjustRequest:
    """Return the opening that a file of positions and cash states; its digest is the evidence.

    Raises:
        RequestError: the file cannot be read, or a line of it is wrong.
    """
    try:
        data = path.read_bytes()
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise RequestError(problem=f"{path}: {error}") from None
    if not rows or [cell.strip().lower() for cell in rows[0]] != COLUMNS:
        raise RequestError(problem=f"{path} line 1: write the header {','.join(COLUMNS)}")
    cash, positions = "", []
    for number, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != len(COLUMNS):
            raise RequestError(problem=f"{path} line {number}: {len(cells)} cells, not 3")
        symbol, quantity, price = cells
        if symbol.upper() == CASH:
            if cash:
                raise RequestError(problem=f"{path} line {number}: {CASH} stands twice")
            cash = quantity
            continue
        try:
            positions.append({"instrument": symbol, "quantity": int(quantity), "price": price})
        except ValueError:
            problem = f"{path} line {number}: quantity {quantity!r} is not a whole number"
            raise RequestError(problem=problem) from None
    if not cash:
        raise RequestError(problem=f"{path}: a line `{CASH},1000000.00,` must state the cash")
    return adjustment_from(
        {
            "ref": f"opening:{day}",
            "sort": "opening",
            "account": account,
            "amount": cash,
            "positions": positions,
            "reason": reason,
            "evidence": f"{path.name} sha256 {hashlib.sha256(data).hexdigest()}",
        }
    )
