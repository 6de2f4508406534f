"""What tests of pages share: the desk's pages and a browser in which an auditor signed in."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gateway.surfaces.web.doors import Entrance
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import PageDesk, page_desk


@pytest.fixture
def pages(desk: MemoryDesk, tmp_path: Path) -> PageDesk:
    """Return its pages."""
    return page_desk(tmp_path, desk)


@pytest.fixture
def door(pages: PageDesk) -> Entrance:
    """Return who may enter them."""
    return pages.door


@pytest.fixture
def browser(pages: PageDesk) -> TestClient:
    """Return the browser of an auditor."""
    return pages.browser("auditor")
