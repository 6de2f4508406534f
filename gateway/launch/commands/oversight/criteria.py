"""The verbs of criteria: write the next ones, sign them, agree on them through the gateway.

A file is JSON: the criteria, and signatures by role.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from audit.files import appearing
from audit.signers.file import write_new
from gateway.desk.officers.oversight.criteria import agreed, criteria_document, criteria_statement
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.officers import read_officer
from gateway.installation.place import Place, attached
from gateway.installation.settings import Settings
from risk.errors import DocumentError
from risk.forms.documents import document_of
from risk.windows.fairness.criteria import (
    PRODUCT,
    SIGNING,
    SignOff,
    criteria_digest,
    criteria_of,
    vote_faults,
)

WITHIN_S: Final = 10.0
READABLE: Final = 0o644


def show_criteria(place: Place) -> int:
    """Print the criteria on record, newest first, and the product's."""
    sys.stdout.write(json.dumps(criteria_document(place.reader), indent=2) + "\n")
    return 0


def next_criteria(place: Place, path: Path, proposer: str, day: str) -> int:
    """Write a file of criteria that would follow the newest; the votes are still to be written.

    Raises:
        RequestError: the file exists.
    """
    newest = next((one for _, one in agreed(place.reader)), PRODUCT)
    votes = tuple(SignOff(role=role, who="", vote="", objection="") for role in SIGNING)
    changed = {"version": newest.version + 1, "proposer": proposer, "effective_day": day}
    draft = replace(newest, **changed, signed_off=votes)  # type: ignore[arg-type]
    document = {"criteria": document_of(draft), "signatures": {}}
    try:
        write_new(path.resolve(), _bytes(document), READABLE)
    except FileExistsError:
        raise RequestError(problem=f"{path} exists: choose another name") from None
    sys.stdout.write(
        f"{path}: write `who` and `vote` (agreed, or objected with an `objection`),"
        " then let both officers sign it\n"
    )
    return 0


def sign_criteria(settings: Settings, path: Path, key_file: Path) -> int:
    """Add one officer's signature to a file of criteria.

    Raises:
        RequestError: the file holds no criteria, or its votes are not complete.
        SettingsError: the key file holds no officer's key, or does not name its role.
    """
    document = _read(path)
    if faults := tuple(vote_faults(criteria_of(document["criteria"]))):
        raise RequestError(problem=f"{path}, before anybody signs: {'; '.join(faults)}")
    officer = read_officer(key_file, "--key")
    if not officer.role:
        problem = f"{key_file} does not name its officer's role: carry it over with `officer-key`"
        raise SettingsError(name="--key", problem=problem)
    with attached(settings) as place:
        log = log_id(place.reader, settings.ledger.origin)
    signed = criteria_statement(log, criteria_of(document["criteria"]))
    document["signatures"][officer.role] = officer.key.sign(signed).hex()
    with appearing(path.resolve(), READABLE) as file:
        file.write(_bytes(document))
    sys.stdout.write(f"{signed.decode()}signed by {officer.role}:{officer.name} into {path}\n")
    return 0


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
        criteria_digest(criteria_of(document["criteria"]))
        dict(document["signatures"])
    except OSError as error:
        raise RequestError(problem=f"cannot read {path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, DocumentError) as error:
        raise RequestError(problem=f"{path} holds no criteria: {error}") from None
    found: dict[str, Any] = document
    return found


def _bytes(document: object) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
