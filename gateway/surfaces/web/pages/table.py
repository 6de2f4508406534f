"""Every page, in the order of the navigation."""

from typing import Final

from gateway.surfaces.web.pages.log import LOG
from gateway.surfaces.web.pages.oversight import WATCHED
from gateway.surfaces.web.pages.page import Page
from gateway.surfaces.web.pages.running import RUNNING
from gateway.surfaces.web.pages.trading import TRADING
from gateway.surfaces.web.pages.walk import WALK

PAGES: Final[tuple[Page, ...]] = (*WALK, *TRADING, *RUNNING, *WATCHED, *LOG)
