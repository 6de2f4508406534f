"""Personal values: committed in the leaf, found in no byte that is stored, opened only in place."""

import base64
import json
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import DisclosureError, DraftError, VaultError
from audit.privacy.retention import RULES, Retention, kept_until_us
from audit.privacy.vault import FILE_BYTES, Vault
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.personal import Personal, commitment, disclosure, fields_of, parse_disclosure
from audit.records.record import Draft, header_bytes, make_record, prepare
from tests.doubles.audit_log import ORIGIN, TIME_US, note
from tests.doubles.disclosing import discloses

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=6, max_size=40).filter(
    lambda text: len(text.strip()) > 5
)
YEARS = {name.value: rule.years for name, rule in RULES.items()}
PATHS = st.sampled_from(["text", "raw/3/57", "request.person"])


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        yield Vault(Path(folder))


@given(data=st.data())
def test_any_values_are_committed_and_stored_nowhere(vault: Vault, data: st.DataObject) -> None:
    said = data.draw(st.lists(st.tuples(NAMES, PATHS), min_size=1, max_size=8))
    personal = tuple(
        Personal(subject=vault.subject(name), path=path, value=f"\u00a4{name}", retention="order")
        for name, path in said
    )
    draft = replace(note("words"), personal=personal)
    plain, rows = vault.seal(ORIGIN, draft)
    prepared = prepare(plain)
    record = make_record(
        prepared, log=ORIGIN, seq=7, stream_seq=3, prev=bytes(32), recorded_at_us=TIME_US
    )
    header = json.loads(record.header)
    assert header_bytes(header) == record.header
    assert [one.subject for one in fields_of(record.body)] == [one.subject for one in personal]
    stored = b"\0".join([record.header, record.payload, *(row.sealed for row in rows)])
    for row, one in zip(rows, personal, strict=True):
        place = {"log": ORIGIN, "stream": draft.stream, "idem_key": draft.idem_key}
        text = vault.open(row, **place, path=one.path)
        assert discloses(text, header["commitments"], row.position)
        assert sha256(text.encode()).hexdigest() == header["commitments"][row.position]
        assert parse_disclosure(text)[1:] == (one.path, one.value)
        assert one.value.encode() not in stored
        assert base64.b64encode(one.value.encode()).rstrip(b"=")[:-1] not in stored
        assert len(row.sealed) % 64 == 1 + 12 + 16, "the length says little of the value's"
    again, resealed = vault.seal(ORIGIN, draft)
    assert again == plain, "the same draft sealed again is the same"
    assert all(a.sealed != b.sealed for a, b in zip(rows, resealed, strict=True)), "nonces are new"
    for changed in (
        replace(draft, idem_key="elsewhere"),
        replace(draft, personal=tuple(replace(one, value=f"{one.value}.") for one in personal)),
    ):
        other, _ = vault.seal(ORIGIN, changed)
        assert not set(other.commitments) & set(plain.commitments)


@given(st.binary(max_size=200) | st.text(max_size=100))
def test_any_bytes_are_a_disclosure_or_its_error(data: bytes | str) -> None:
    try:
        salt, path, value = parse_disclosure(data)
    except DisclosureError:
        return
    assert disclosure(salt, path, value) == str(data, "ascii") if isinstance(data, bytes) else data


@given(NAMES, PATHS, st.binary(min_size=32, max_size=32), st.integers(0, 10_000))
def test_a_changed_disclosure_does_not_fit(value: str, path: str, salt: bytes, place: int) -> None:
    text = disclosure(salt, path, value)
    at = place % len(text)
    other = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
    commitments = [commitment(text)]
    assert discloses(text + "\n", commitments, 0)
    assert not discloses(text, commitments, 1)
    with suppress(DisclosureError):
        assert not discloses(other, commitments, 0)


def test_the_form_is_fixed() -> None:
    text = disclosure(bytes(range(32)), "request.person", "Ada Lovelace")
    assert text == (
        "WyJBQUVDQXdRRkJnY0lDUW9MREEwT0R4QVJFaE1VRlJZWEdCa2FHeHdkSGg4IiwicmVxdWVzdC5wZXJzb24iLCJB"
        "ZGEgTG92ZWxhY2UiXQ"
    )
    assert json.loads(base64.urlsafe_b64decode(text + "==")) == [
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
        "request.person",
        "Ada Lovelace",
    ]


def test_drafts_that_would_lose_or_betray_a_value_are_refused(vault: Vault) -> None:
    subject = vault.subject("Ada Lovelace")
    one = Personal(subject=subject, path="text", value="Ada Lovelace", retention="none")
    draft = replace(note("x"), personal=(one,))
    with pytest.raises(DraftError, match="no vault"):
        prepare(draft)
    with pytest.raises(DisclosureError):
        vault.seal(ORIGIN, replace(draft, commitments=("0" * 64,)))
    listed: dict[str, JSON] = {**draft.payload, "personal": [{"index": 0, "path": "other"}]}
    with pytest.raises(DisclosureError, match="other personal fields"):
        vault.seal(ORIGIN, replace(draft, payload=listed))
    for value in ("\ud800", "x" * 60_000):
        with pytest.raises(DisclosureError) as refused:
            vault.seal(ORIGIN, replace(draft, personal=(replace(one, value=value),)))
        assert value[:8] not in str(refused.value)
    with pytest.raises(VaultError):
        vault.seal(ORIGIN, replace(draft, personal=(replace(one, subject="psn-" + "a" * 16),)))
    with pytest.raises(VaultError):
        vault.subject("   ")


def test_words_that_name_somebody_known_are_taken_out(vault: Vault) -> None:
    subject = vault.subject("Grace Hopper")
    shielded = vault.shield(note("call GRACE hopper back"))
    assert shielded.payload["text"] == subject
    assert [one.value for one in shielded.personal] == ["call GRACE hopper back"]
    assert vault.shield(note("nobody here")).personal == ()
    other = Draft(
        stream="decision/d",
        kind=Kind.DECISION_SEALED,
        payload={"outcome": "Grace Hopper"},
        actor="gateway",
        idem_key="sealed",
    )
    assert vault.shield(other) is other, "only fields that are words"


def test_words_name_somebody_in_any_form_and_a_short_name_as_a_word(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    known = {name: vault.subject(name) for name in ("Jörg Groß", "Bob", "Al", "Σίσυφος")}
    for text, who in {
        "ask jo\u0308rg GROSS": "Jörg Groß",
        "by xJÖRG GROẞx": "Jörg Groß",
        "ΣΊΣΥΦΟΣ called": "Σίσυφος",
        "BOB, again": "Bob",
        "bobsled": None,
        "Al said": None,
        "nobody": None,
    }.items():
        assert vault.named_in(text) == (None if who is None else known[who]), text


def test_words_name_somebody_however_they_were_set(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    ada, juergen = vault.subject("Ada Lovelace"), vault.subject("Jürgen O\u2019Brien-Groß")
    vault.subject("Li")
    for text, who in {
        "Ada\u00a0Lovelace asked": ada,
        "Ada  Lovelace": ada,
        "Ada\tLovelace": ada,
        "Ada\nLovelace": ada,
        "Ada\u2009Lovelace": ada,
        "\uff21\uff44\uff41 \uff2c\uff4f\uff56\uff45\uff4c\uff41\uff43\uff45": ada,
        "Ada\u200b Lovelace": ada,
        "Ada Love\u00adlace": ada,
        "Lovelace, Ada asked": ada,
        "LOVELACE ADA": ada,
        "\U0001d400\U0001d41d\U0001d41a Lovelace": ada,
        "J\u00fcrgen O'Brien-Gro\u00df": juergen,
        "ju\u0308rgen o\u02bcbrien\u2011GROSS": juergen,
        "O`Brien\u2013Gross, J\u00fcrgen": juergen,
        "Lovelace asked": None,  # one word of several may be somebody else
        "Li asked": None,
        "\u200b": None,
    }.items():
        assert vault.named_in(text) == who, ascii(text)
    assert vault.named_in("\u3164\u3164\u3164") is None
    vault.subject("\u3164\u3164\u3164")
    assert vault.named_in("nobody") is None, "a name that nobody sees is in no words"
    assert vault.find_all("ada\u00a0 LOVELACE") == (ada,)


def test_a_process_that_holds_keys_leaves_no_core_file(tmp_path: Path) -> None:
    Vault(tmp_path / "vault")
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    child = subprocess.run(["sh", "-c", "ulimit -c"], capture_output=True, check=True, text=True)
    assert child.stdout.strip() == "0"


def test_a_key_is_overwritten_before_it_is_unlinked(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    vault = Vault(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    subject = vault.subject("Ada Lovelace")
    path = folder / f"{subject}.subject"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size == FILE_BYTES
    assert Vault(folder).find("  Ada Lovelace ") == subject, "durable, and found by any blanks"
    held = path.open("rb")
    key = bytes(json.loads(held.read())["key"], "ascii")
    assert vault.destroy(subject)
    assert not path.exists()
    held.seek(0)
    left = held.read()
    held.close()
    assert key not in left
    assert b"Ada" not in left
    assert not vault.destroy(subject)
    assert vault.find("Ada Lovelace") is None
    assert Vault(folder).subjects() == frozenset()


def test_a_damaged_or_open_vault_is_refused_and_a_half_made_key_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    subject = Vault(folder).subject("Ada Lovelace")
    (folder / "psn-aaaaaaaaaaaaaaaa.new").write_text("half")
    (folder / "psn-aaaaaaaaaaaaaaab.dying").write_bytes(b"\xff\0half overwritten")
    assert Vault(folder).subjects() == {subject}
    assert [path.name for path in folder.iterdir()] == [f"{subject}.subject"]
    for content in (b"", b"{}", b"[]", b'{"key": "00", "names": []}', b"\xff"):
        (folder / f"{subject}.subject").write_bytes(content)
        with pytest.raises(VaultError):
            Vault(folder)
    folder.chmod(0o755)
    with pytest.raises(VaultError, match="chmod 700"):
        Vault(folder)


def test_retention_counts_whole_years_from_the_record() -> None:
    leap = 1_709_164_800_000_000  # 29 February 2024
    assert kept_until_us(leap, "order", {"order": 1}) == 1_740_787_200_000_000  # 1 March 2025
    assert kept_until_us(TIME_US, "none", YEARS) == TIME_US
    longest = kept_until_us(TIME_US, "order", YEARS)
    assert kept_until_us(TIME_US, "nobody declared it", YEARS) == longest
    assert set(RULES) == set(Retention)
    assert all(rule.source and rule.what for rule in RULES.values())
