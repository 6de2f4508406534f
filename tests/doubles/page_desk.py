"""The one desk of every test of a page: in memory, with its site and persons who sign in to it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.site import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.page_person import KeptDrafts, entrance, sign_in

HOME: Final = "http://127.0.0.1:8700"
OWN: Final = {"Origin": HOME}
COOKIE: Final = "countersign_8700"
NO_DATABASE: Final = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDesk:
    """A desk with its pages; `refusals` has what its doors refused."""

    desk: MemoryDesk
    app: FastAPI
    door: Entrance
    refusals: KeptDrafts

    def browser(self, name: str = "", *, port: int = 40_000) -> TestClient:
        """Return a browser of this machine in which `name` has signed in; "" for nobody."""
        browser = TestClient(
            self.app, base_url=HOME, client=("127.0.0.1", port), follow_redirects=False
        )
        if name:
            sign_in(browser, self.door.keyring.token(name))
        return browser

    def read(self, path: str, name: str = "auditor") -> str:
        """Return a page as a person sees it, which must be there."""
        return self.browser(name).get(path).raise_for_status().text

    def post(self, browser: TestClient, path: str, **fields: str) -> httpx2.Response:
        """Post a form with the token that its page has for this session."""
        token = self.door.guard.token(session_in(browser), path)
        return browser.post(path, data={"token": token, **fields}, headers=OWN)

    def press(self, name: str, path: str, **fields: str) -> str:
        """Return the answer to a form that a person posts, which must be done."""
        return self.post(self.browser(name), path, **fields).raise_for_status().text

    def reads(self) -> list[tuple[str, str]]:
        """Return who read what, as the log has it."""
        found = self.desk.log.of_kind(Kind.READ_RECORDED)
        return [(str(one.body["reader"]), str(one.body["object"])) for one in found]

    def refused(self) -> set[tuple[str, str]]:
        """Return whom the doors refused, and why."""
        self.door.refusals.flush()
        return {(str(d.payload["who"]), str(d.payload["reason"])) for d in self.refusals.drafts}


def page_desk(
    folder: Path,
    desk: MemoryDesk | None = None,
    *,
    reader: LedgerReader | None = None,
    views: Views | None = None,
) -> PageDesk:
    """Return the pages of a desk, by default of a new one, which read from its log."""
    desk = desk or memory_desk(folder / "desk")
    refusals, app = KeptDrafts(), FastAPI()
    door = entrance(folder / "door", refusals)
    reader = reader or cast("LedgerReader", desk.log)
    register(app, views or Views(reader, TABLE), desk.small.desk, door)
    return PageDesk(desk=desk, app=app, door=door, refusals=refusals)


def without_database(folder: Path) -> PageDesk:
    """Return the pages of a desk whose database does not answer."""
    return page_desk(folder, reader=LedgerReader(NO_DATABASE, timeout_s=2.0))


def session_in(browser: TestClient) -> str:
    """Return the session of a browser's cookie; "" without one."""
    return dict(browser.cookies.items()).get(COOKIE, "")


def hidden(page: str, address: str) -> dict[str, str]:
    """Return the hidden fields of a page's form that posts to an address."""
    form = page.partition(f'action="{address}"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
