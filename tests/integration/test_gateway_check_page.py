"""A person checks a record in a real browser: the page's own script, real bytes, real WebCrypto."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fastapi import FastAPI
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from audit.ledger import Ledger, LedgerConfig
from audit.queries import LedgerReader
from gateway.keyring import Caller
from gateway.server import Server
from gateway.settings import ApiSettings
from gateway.web.pages import register
from gateway.web.views import Views
from scripts.screenshots import find_browser, open_browser
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note

pytestmark = pytest.mark.postgres
RECORDS = 11
WITHIN_S = 20


class NoDesk:
    """The pages' actions of a gateway that trades nothing."""

    def authenticate(self, key: str) -> Caller | None:
        assert isinstance(key, str)
        return None

    def kill_state(self) -> tuple[int, bool]:
        return 0, False

    def kill(self, caller: Caller, reason: str) -> str:
        raise NotImplementedError

    def answer_hold(
        self, caller: Caller, decision_id: str, *, approve: bool, intent_digest: str, note: str
    ) -> str:
        raise NotImplementedError


@pytest.fixture
def address(postgres_dsn: str) -> Iterator[str]:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        for number in range(RECORDS):
            ledger.append(note(f"entry {number}, a person wrote: \u20ac \U0001f600"))
    reader = LedgerReader(postgres_dsn)
    app, server = FastAPI(), Server(ApiSettings(port=0))
    register(app, Views(reader), NoDesk(), b"secret")
    server.start(app)
    yield server.address
    server.stop()
    reader.close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[WebDriver]:
    chromium = open_browser(*find_browser(), str(tmp_path))
    yield chromium
    chromium.quit()


def checked(browser: WebDriver, address: str, seq: int, key: str = "") -> tuple[str, str, str]:
    """Open the page, give a key, and return exit code, signature line and words."""
    browser.get(f"{address}/records/{seq}/check")
    wait = WebDriverWait(browser, WITHIN_S)
    page = "return document.querySelector('#check').dataset.exit"
    wait.until(lambda chromium: chromium.execute_script(page) is not None)
    if key:
        browser.execute_script("delete document.querySelector('#check').dataset.exit")
        browser.find_element(By.ID, "keys").send_keys(key)
        browser.find_element(By.CSS_SELECTOR, "#trust button").click()
        wait.until(lambda chromium: chromium.execute_script(page) is not None)
    return (
        str(browser.execute_script(page)),
        browser.find_element(By.ID, "signature").text,
        browser.find_element(By.ID, "words").text,
    )


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

    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute("ALTER TABLE ledger.entry DISABLE TRIGGER ALL")
        admin.execute("ALTER TABLE ledger.entry DROP CONSTRAINT entry_digest_is_hash")
        admin.execute("ALTER TABLE ledger.entry DROP CONSTRAINT entry_leaf_is_hash")
        change = "UPDATE ledger.entry SET payload = replace(encode(payload, 'escape'), 'entry 4',"
        admin.execute(f"{change} 'entry 5')::bytea WHERE seq = 4".encode())
        forged = "UPDATE ledger.entry SET header = overlay(header PLACING 'q' FROM 12) WHERE seq=5"
        admin.execute(forged.encode())
    for seq, word in ((4, "payload"), (5, "root")):
        code, _, words = checked(browser, address, seq, key)
        assert code == "1", words
        assert word in words
