"""A ledger with a vault, records about persons, and a byte search for what they are called."""

import base64
import itertools
import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

import psycopg

from audit.privacy.disclosures import Disclosures
from audit.privacy.erasure import Privacy
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.personal import Personal
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, note

NAME = "Jörg Übelhör-Namenlos"
OTHER = "Dorothea Anderswo"
YEARS = {"order": 6, "communication": 5, "supervision": 5, "none": 0}
TRUSTED = (str(SIGNER.vkey),)
_numbers = itertools.count()


def forms(value: str) -> dict[str, bytes]:
    """Return a value as bytes in the encodings in which it could stand on a disk."""
    found: dict[str, bytes] = {}
    for case in (str, str.lower, str.upper):
        for shape in ("NFC", "NFD"):
            text = unicodedata.normalize(shape, case(value))
            name = f"{case.__name__} {shape}"
            found |= {
                f"utf-8 {name}": text.encode(),
                f"latin-1 {name}": text.encode("latin-1", "replace"),
                f"twice {name}": text.encode().decode("latin-1").encode(),
                f"json {name}": json.dumps(text)[1:-1].encode(),
                f"json in json {name}": json.dumps(json.dumps(text)[1:-1])[1:-1].encode(),
                f"percent {name}": quote(text).encode(),
                f"form {name}": quote_plus(text).encode(),
                f"python {name}": ascii(text)[1:-1].encode(),
            }
    plain = value.encode()
    found |= {
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
        "hex": plain.hex().encode(),
        "hex upper": plain.hex().upper().encode(),
    }
    for shift in range(3):  # the three ways in which base64 may cut it, edges left out
        for name, encode in (("b64", base64.b64encode), ("b64url", base64.urlsafe_b64encode)):
            whole = encode(b"x" * shift + plain)
            found[f"{name} {shift}"] = whole[4 if shift else 0 : len(whole) // 4 * 4 - 4]
    return {name: form for form, name in {form: name for name, form in found.items()}.items()}


def hits(value: str, *roots: Path) -> list[str]:
    """Return where a value stands in any file under some folders, and in which encoding."""
    wanted = forms(value)
    files = [p for root in roots for p in ([root] if root.is_file() else root.rglob("*"))]
    return [
        f"{path.name} as {name}"
        for path in files
        if path.is_file()
        for data in (path.read_bytes(),)
        for name, form in wanted.items()
        if form in data
    ]


@dataclass
class World:
    """A ledger with a vault, and what an erasure works with."""

    dsn: str
    folder: Path
    ledger: Ledger
    reader: LedgerReader
    vault: Vault
    now_us: int = TIME_US
    steps: list[str] = field(default_factory=list)
    fails_after: str = ""
    cut_at: int = 0

    def privacy(
        self,
        clean: Callable[[tuple[str, ...]], None] = lambda _: None,
        on_read: Callable[[int, int], None] = lambda *_: None,
    ) -> Privacy:
        return Privacy(
            log=ORIGIN,
            ledger=self.ledger,
            reader=self.reader,
            vault=self.vault,
            disclosures=Disclosures(self.dsn, on_read),
            years=YEARS,
            now_us=lambda: self.now_us,
            clean=clean,
            on_step=self.step,
        )

    def disclosures(self) -> Disclosures:
        return Disclosures(self.dsn)

    def step(self, name: str) -> None:
        self.steps.append(name)
        if name == self.fails_after or len(self.steps) == self.cut_at:
            raise KeyboardInterrupt(name)

    def said(
        self, name: str, *, retention: str = "none", stream: str = "control", value: str = ""
    ) -> int:
        """Put a record about a person on the ledger; return its number."""
        draft = about(self.vault.subject(name), value or name, retention=retention, stream=stream)
        return self.ledger.append(draft)[0].seq

    def rows(self) -> int:
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute("SELECT count(*) FROM ledger.disclosure").fetchone()
        assert row is not None
        return int(row[0])


def about(
    subject: str, value: str, *, retention: str = "none", stream: str = "control", key: str = ""
) -> Draft:
    name = key or f"n{next(_numbers)}"
    personal = (Personal(subject=subject, path="text", value=value, retention=retention),)
    if stream == "control":
        plain = note("said by somebody", name)
    else:
        plain = Draft(
            stream=stream,
            kind=Kind.DECISION_SEALED,
            payload={"outcome": "filled"},
            actor="gateway",
            idem_key=name,
        )
    return Draft(
        stream=plain.stream,
        kind=plain.kind,
        payload=plain.payload,
        actor=plain.actor,
        idem_key=plain.idem_key,
        personal=personal,
    )


@contextmanager
def world_at(
    dsn: str, folder: Path, on_ledger_step: Callable[[str], None] = lambda _: None
) -> Iterator[World]:
    vault = Vault(folder / "vault")
    made: list[World] = []
    ledger = Ledger.open(
        LedgerConfig(dsn=dsn, checkpoint_every_s=0),
        SIGNER,
        lambda: made[0].now_us if made else TIME_US,
        on_step=on_ledger_step,
        vault=vault,
    )
    reader = LedgerReader(dsn)
    made.append(World(dsn=dsn, folder=folder, ledger=ledger, reader=reader, vault=vault))
    try:
        yield made[0]
    finally:
        ledger.close()
        reader.close()
