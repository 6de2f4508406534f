"""A person checks a record in a real browser: the page's own script, real bytes, real WebCrypto."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psycopg
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.tlog.cosignature import cosign
from audit.tlog.note import ED25519, parse_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.rotation import rotate
from audit.verifier.verify import NOT_CHECKABLE, OK, TAMPERED, main
from gateway.installation.settings import ApiSettings
from gateway.surfaces.server import Server
from gateway.surfaces.web.views.lists import Views
from scripts.screenshots import find_browser, open_browser
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note
from tests.doubles.cosigners import QUANTUM_SAFE, Cosigner
from tests.doubles.page_desk import page_desk

pytestmark = pytest.mark.postgres
RECORDS = 11
WITHIN_S = 20
KEYS: dict[str, str] = {}
"""An auditor's key for each address that is served."""
CONFIG = partial(LedgerConfig, checkpoint_every_s=0)


@contextmanager
def served(dsn: str, policy: bytes | None = None) -> Iterator[str]:
    """Serve the pages of a ledger; yield their address."""
    reader, server = LedgerReader(dsn), Server(ApiSettings(port=0))
    parsed = None if policy is None else QuorumPolicy.parse(policy)
    with TemporaryDirectory(prefix="countersign-pages-") as folder:
        pages = page_desk(Path(folder), views=Views(reader, policy=parsed))
        server.start(pages.app)
        KEYS[server.address] = pages.door.keyring.token("auditor")
        yield server.address
        server.stop()
        seen = {(who, what.partition("/")[0]) for who, what in pages.reads()}
        assert seen == {("auditor", "record")}
    reader.close()


@pytest.fixture
def address(postgres_dsn: str) -> Iterator[str]:
    with Ledger.open(CONFIG(dsn=postgres_dsn), SIGNER, lambda: TIME_US) as ledger:
        for number in range(RECORDS):
            ledger.append(note(f"entry {number}, a person wrote: \u20ac \U0001f600"))
    with served(postgres_dsn) as there:
        yield there


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[WebDriver]:
    chromium = open_browser(*find_browser(), str(tmp_path))
    yield chromium
    chromium.quit()


def checked(
    browser: WebDriver, address: str, seq: int, key: str = "", **files: Sequence[Path]
) -> tuple[str, str, str]:
    """Open the page, give a key and files, and return exit code, signature line and words."""
    browser.get(f"{address}/records/{seq}/check")
    if "/sign-in" in browser.current_url:
        browser.find_element(By.NAME, "key").send_keys(KEYS[address])
        browser.find_element(By.CSS_SELECTOR, ".sign-in button").click()
    wait = WebDriverWait(browser, WITHIN_S)
    page = "return document.querySelector('#check').dataset.exit"
    wait.until(lambda chromium: chromium.execute_script(page) is not None)
    if key or files:
        browser.execute_script("delete document.querySelector('#check').dataset.exit")
        browser.find_element(By.ID, "keys").send_keys(key)
        for name, paths in files.items():
            browser.find_element(By.ID, name).send_keys("\n".join(map(str, paths)))
        browser.find_element(By.CSS_SELECTOR, "#trust button").click()
        wait.until(lambda chromium: chromium.execute_script(page) is not None)
    return (
        str(browser.execute_script(page)),
        browser.find_element(By.ID, "signature").text,
        browser.find_element(By.ID, "words").text,
    )


def changed_in_place(dsn: str, *statements: str) -> None:
    """Change rows as a superuser can."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("ALTER TABLE ledger.entry DISABLE TRIGGER ALL")
        admin.execute("ALTER TABLE ledger.entry DROP CONSTRAINT entry_digest_is_hash")
        admin.execute("ALTER TABLE ledger.entry DROP CONSTRAINT entry_leaf_is_hash")
        for statement in statements:
            admin.execute(statement.encode())


def test_the_browser_recomputes_a_record_and_says_what_it_cannot_check(
    address: str, browser: WebDriver, postgres_dsn: str
) -> None:
    key = str(SIGNER.vkey)
    code, signature, _ = checked(browser, address, 3)
    assert (code, signature) == ("3", "signature not checkable here: give the log's key")
    assert browser.find_element(By.ID, "roots").text == "equal"
    for seq in (0, 3, RECORDS - 1):
        assert checked(browser, address, seq, key)[0] == "0"
    assert len(browser.find_elements(By.CSS_SELECTOR, "#path li")) > 0
    code, _, words = checked(browser, address, 3, str(OTHER_SIGNER.vkey))
    assert code == "1"
    assert "signed by no trusted key" in words
    severe = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert severe == []

    changed_in_place(
        postgres_dsn,
        "UPDATE ledger.entry SET payload = replace(encode(payload, 'escape'),"
        " 'entry 4', 'entry 5')::bytea WHERE seq = 4",
        "UPDATE ledger.entry SET header = overlay(header PLACING 'q' FROM 12) WHERE seq = 5",
    )
    for seq, word in ((4, "payload"), (5, "root")):
        code, _, words = checked(browser, address, seq, key)
        assert code == "1", words
        assert word in words


def test_the_signature_line_says_what_is_true_of_the_signatures(
    postgres_dsn: str, browser: WebDriver, tmp_path: Path
) -> None:
    """The quorum hangs on a cosignature that no browser can check, and a payload is changed."""
    policy = f"witness w {QUANTUM_SAFE.vkey}\nquorum w\n".encode()
    (tmp_path / "policy").write_bytes(policy)
    with Ledger.open(CONFIG(dsn=postgres_dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("entry 0"), note("entry 1"))
        made = ledger.checkpoint_now()
        assert made is not None
        line = cosign(parse_note(made.note).text, QUANTUM_SAFE, TIME_US // 1_000_000)
        ledger.append(note("entry of a later checkpoint"))
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        row = (made.size, line.name, line.key_id, str(line).encode(), TIME_US)
        admin.execute("INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, %s)", row)
    changed_in_place(
        postgres_dsn,
        "UPDATE ledger.entry SET payload = replace(encode(payload, 'escape'),"
        " 'entry 1', 'entry 2')::bytea WHERE seq = 1",
    )
    key, files = str(SIGNER.vkey), {"policy": [tmp_path / "policy"]}
    with served(postgres_dsn, policy) as address:
        code, signature, _ = checked(browser, address, 0, key, **files)
        assert code == "3"
        for words in (
            "the trusted key signed this root",
            "of w:",
            "ML-DSA-44",
            "audit/verifier/verify.py",
        ):
            assert words in signature
        assert "give the log's key" not in signature
        changed = checked(browser, address, 1, key, **files)
        assert changed[:2] == ("1", signature)
        assert "the payload is not the one" in changed[2]
        code, signature, words = checked(browser, address, 1, key)
        assert (code, signature) == ("1", "the trusted key signed this root")
        code, signature, _ = checked(browser, address, 1, str(OTHER_SIGNER.vkey))
        assert code == "1"
        assert "signed by no trusted key" in signature
        assert "payload" not in signature
        for slip in (key[:-3], str(QUANTUM_SAFE.vkey).replace("w9", "w8")):
            code, signature, _ = checked(browser, address, 0, slip)
            assert code == "3"
            assert signature.startswith("not checked: ")
        code, signature, _ = checked(browser, address, made.size, key, **files)
        assert code == "2"
        assert "the trusted key signed this root; INCOMPLETE: the policy's quorum" in signature


def test_a_change_of_the_logs_key_is_followed_as_verify_py_does(
    postgres_dsn: str, browser: WebDriver, tmp_path: Path
) -> None:
    with Ledger.open(CONFIG(dsn=postgres_dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("of the old key"))
        size = ledger.checkpoint_now()
    with Ledger.open(
        CONFIG(dsn=postgres_dsn), OTHER_SIGNER, lambda: TIME_US, co_signers=[SIGNER]
    ) as ledger:
        statement = hand_over(ledger)
    with Ledger.open(CONFIG(dsn=postgres_dsn), OTHER_SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("of the new key"))
        newest = ledger.size - 1
    assert size is not None
    old, new, stranger = (
        str(one.vkey) for one in (SIGNER, OTHER_SIGNER, Cosigner(SIGNER.vkey.name, 7, ED25519))
    )
    (tmp_path / "rotation").write_bytes(statement)
    (tmp_path / "noise").write_bytes(b"noise")
    questions = (
        (newest, old, (), OK),
        (newest, new, (), OK),
        (newest, stranger, (), TAMPERED),
        (0, old, (), OK),
        (0, new, (), TAMPERED),
        (0, new, ("rotation",), OK),
        (0, new, ("noise",), NOT_CHECKABLE),
    )
    with served(postgres_dsn) as address:
        for seq, key, names, code in questions:
            rotations = [tmp_path / name for name in names]
            proof = httpx.get(
                f"{address}/records/{seq}/record.tlog-proof",
                headers={"Authorization": f"Bearer {KEYS[address]}"},
                trust_env=False,
            )
            (tmp_path / "proof").write_bytes(proof.content)
            arguments = [str(tmp_path / "proof"), "--key", key]
            for path in rotations:
                arguments += ["--rotation", str(path)]
            assert main(arguments) == code, arguments
            files = {"rotations": rotations} if rotations else {}
            page, signature, words = checked(browser, address, seq, key, **files)
            assert page == str(code), (arguments, signature, words)
            if code == TAMPERED:
                assert "if the log's key was changed since, give the signed change" in signature


def hand_over(ledger: Ledger) -> bytes:
    """Put a change of keys on record; return the signed statement."""
    rotation = rotate(SIGNER, OTHER_SIGNER, ledger.size, TIME_US)
    payload: dict[str, JSON] = {
        "statement": rotation.statement.decode(),
        "old_vkey": str(SIGNER.vkey),
        "new_vkey": str(OTHER_SIGNER.vkey),
        "from_size": rotation.from_size,
        "from_us": rotation.from_us,
    }
    change = Draft(
        stream="control",
        kind=Kind.KEY_ROTATED,
        payload=payload,
        actor="person:ada",
        idem_key="rotated:1",
    )
    ledger.append(change)
    return rotation.statement
