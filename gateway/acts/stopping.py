"""Acts that stop orders, apart from the kill, and let them flow again."""

from typing import Final

from gateway.acts.act import Act
from gateway.desk.bodies.requests import ResumeRequest, StopRequest
from gateway.desk.officers.flatten import FlattenRequest

STOPPING: Final = (
    Act(
        name="stops.list",
        summary="Which stops are in force?",
        says="Return the stops in force, by whom, and the statement by which an officer ends them.",
        action="watch",
        path="/v1/stops",
        noted="stops",
    ),
    Act(
        name="stops.pause",
        summary="Pause: no new order",
        says="Refuse every new order from now on; live orders stay. Decisions go on record"
        " as refused.",
        action="stop",
        path="/v1/stops/pause",
        body=StopRequest,
    ),
    Act(
        name="stops.reduce_only",
        summary="Only orders that reduce a position",
        says="Refuse every order that may increase a position or cross zero; live orders stay.",
        action="stop",
        path="/v1/stops/reduce-only",
        body=StopRequest,
    ),
    Act(
        name="stops.secure",
        summary="Secure reasoning: nothing is drafted",
        says="Sample every forecast from the target alone from now on, until both officers"
        " sign its end.",
        action="stop",
        path="/v1/stops/secure",
        body=StopRequest,
    ),
    Act(
        name="stops.cancel_all",
        summary="Cancel every live order",
        says="Cancel every order that may work at the broker, paced; new orders may follow.",
        action="stop",
        path="/v1/stops/cancel-all",
        body=StopRequest,
    ),
    Act(
        name="stops.flatten",
        summary="Close positions",
        says="Put reduce-only in force, then ask for the orders that bring positions to"
        " zero. Each order is judged by the rules like any other; the answer has its"
        " decision and result. What cannot be judged now is listed under `left`, with"
        " the reason. Refused during a kill or a pause.",
        action="stop",
        path="/v1/stops/flatten",
        body=FlattenRequest,
    ),
    Act(
        name="stops.resume",
        summary="End the stops in force",
        says="End your own stops, or another person's with one officer's signature.",
        action="stop",
        path="/v1/stops/resume",
        body=ResumeRequest,
    ),
)
