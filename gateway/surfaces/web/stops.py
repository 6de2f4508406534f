"""The buttons of the stops apart from the kill, and of cancelling every order.

Not here: the kill's button (`pages`), what a button makes the desk do (`actions`).
"""

from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from audit.errors import AuditError
from gateway.errors import GatewayError
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.doors import Posted, reader_of
from gateway.surfaces.web.sheets import KILL, STOPS, Sheets


class Controls(Protocol):
    """What the buttons can do; refusals are `GatewayError` or `AuditError`."""

    def stops(self) -> tuple[str, ...]:
        """Return a line for each stop in force; reads no ledger."""

    def drilled(self) -> str:
        """Return a line about the newest drill of the kill, or the empty text; reads no ledger."""

    def press(self, caller: Caller, verb: str, reason: str, *, sure: bool = False) -> str:
        """Do what a button says; return one line for the person. Flatten acts only if `sure`."""


HEADINGS: Final = {
    "pause": "Pause",
    "reduce-only": "Reduce-only",
    "secure": "Secure reasoning",
    "cancel-all": "Cancel all",
    "flatten": "Flatten",
    "resume": "Resume",
}


class StopButtons:
    """The handler of the buttons."""

    def __init__(self, controls: Controls, sheets: Sheets) -> None:
        self._controls = controls
        self._sheets = sheets

    def routes(self) -> APIRouter:
        """Return one route for each button."""
        router = APIRouter()
        for verb in HEADINGS:
            router.add_api_route(
                f"{STOPS}/{verb}",
                self.press,
                methods=["POST"],
                dependencies=[Depends(Posted("stop"))],
            )
        return router

    def press(
        self,
        request: Request,
        reason: Annotated[str, Form(max_length=500)] = "",
        sure: Annotated[str, Form(max_length=3)] = "",
    ) -> Response:
        """Press the button that the form's address names."""
        verb = request.url.path.rpartition("/")[2]
        said = reason or "pressed on the page"
        heading = HEADINGS[verb]
        try:
            text = self._controls.press(reader_of(request), verb, said, sure=sure == "yes")
        except (GatewayError, AuditError) as error:
            text = str(error)
            return self._sheets.say(request, f"{heading}: refused", text, 409, back=KILL)
        return self._sheets.say(request, heading, text, 200, back=KILL)
