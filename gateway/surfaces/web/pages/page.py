"""A row of the table of pages, and a row of the table of buttons.

A row says everything that is special about a page or a form. The binder makes its route, the
document of accesses its line, the frame its entry in the navigation, and `make screenshots` its
pictures. Nothing is registered by importing it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Final

from fastapi.responses import Response
from starlette.datastructures import State

from audit.store.reader import LedgerReader
from gateway.desk.desk import Desk
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.doors import WATCH, PageRefusedError
from gateway.surfaces.web.views.lists import Views

_PLACE: Final = re.compile(r"\{(\w+)\}")
NOTHING: Final = "nothing is read"
"""How `noted` begins for a page that shows nothing of the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPage:
    """A page or a button that somebody who may asked for; `state` is the application's."""

    desk: Desk
    views: Views
    caller: Caller
    state: State

    @property
    def reader(self) -> LedgerReader:
        """The ledger."""
        return self.views.reader


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """What a reader found, where values for the template do not say it all.

    Attributes:
        noted: what this read is recorded as.
        file: sent instead of the template.
    """

    noted: str
    values: Mapping[str, object] = field(default_factory=dict)
    file: Response | None = None


class NoSuchPageError(PageRefusedError):
    """There is nothing at this address."""

    status = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page.

    Attributes:
        path: with a place in braces for each id.
        title: in the browser's tab and in the navigation.
        reader: returns the template's values, or a `PageRead`; takes what is asked, then by name
            the ids of the path and the words of the address, typed as FastAPI reads them.
        template: its file; empty if the reader sends one of its own.
        noted: what a read is recorded as, with the path's ids in braces.
        action: what a role may do (`gateway.installation.keys.roles.MAY`).
        menu: whether the navigation has it.
        under: the page of the navigation that it belongs to, if it is not there itself.
        fresh: whether it may keep itself fresh, with all that stands under it.
        scripted: whether it runs a script of its own.
        looks: addresses at which `make screenshots` looks; without an id the path is one.
    """

    path: str
    title: str
    reader: Callable[..., Mapping[str, object] | PageRead]
    template: str = ""
    noted: str
    action: str = WATCH
    menu: bool = False
    under: str = ""
    fresh: bool = False
    scripted: bool = False
    looks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a row that does not say what its reads are recorded as.

        Raises:
            ValueError: `noted` is empty.
        """
        if not self.noted:
            raise ValueError(f"{self.path}: `noted` says what a read is recorded as")

    @property
    def plain(self) -> bool:
        """Whether it needs no ledger: it reads nothing, and its frame neither."""
        return self.noted.startswith(NOTHING)

    @property
    def here(self) -> str:
        """The entry of the navigation that is marked."""
        return self.under or (self.path if self.menu or self.plain else "")

    @property
    def noted_for(self) -> str:
        """What a read is recorded as, with N for a number, ID for another id, NAME for a name."""
        types = {one.name: one.annotation for one in signature(self.reader).parameters.values()}
        ids = _PLACE.findall(self.path)

        def word(found: re.Match[str]) -> str:
            name = found.group(1)
            if name not in ids:
                return name.upper()
            return "N" if types[name] is int else "ID"

        return _PLACE.sub(word, self.noted)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where `make screenshots` looks at it."""
        return self.looks if "{" in self.path else (self.path, *self.looks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """One form that posts.

    Attributes:
        path: with a place in braces for each id.
        action: what a role may do.
        title: heading of the answer.
        does: returns one line for the person; takes what is asked, then by name the ids of the
            path and the fields of the form. Refuses with `GatewayError` or `AuditError`.
        back: where the answer leads, with the path's ids in braces.
        refused: heading of a refusal; by default the title says it.
        says: what it does, for whoever may press it, if the page is made of rows.
        tick: words beside a box that must be ticked before it acts.
        hurried: whether it runs on the threads that are reserved for the kill.
    """

    path: str
    action: str
    title: str
    does: Callable[..., str]
    back: str = "/"
    refused: str = ""
    says: str = ""
    tick: str = ""
    hurried: bool = False

    @property
    def refusal(self) -> str:
        """Heading of a refusal."""
        return self.refused or f"{self.title}: refused"
