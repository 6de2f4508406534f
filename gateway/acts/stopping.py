"""Acts that stop orders, apart from the kill, and let them flow again."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.verb import Verb
from gateway.desk.bodies.stopping import FlattenRequest, ResumeRequest, StopRequest

STOPPING: Final = (
    Act(
        name="stops.list",
        summary="Which stops are in force?",
        says="Return the stops in force, by whom, and the statement by which an officer ends them.",
        action="watch",
        path="/v1/stops",
        noted="stops",
        verb=Verb(
            words="stops",
            example="",
            line="{stop} by {by}: {reason} ({seq})",
            items="stops",
            none="no stop is in force",
            warns="stops",
        ),
    ),
    Act(
        name="stops.pause",
        summary="Pause: no new order",
        says="Refuse every new order from now on; live orders stay. Decisions go on record"
        " as refused.",
        action="stop",
        path="/v1/stops/pause",
        body=StopRequest,
        left_out="`countersign pause` also works while no gateway runs",
    ),
    Act(
        name="stops.reduce_only",
        summary="Only orders that reduce a position",
        says="Refuse every order that may increase a position or cross zero; live orders stay.",
        action="stop",
        path="/v1/stops/reduce-only",
        body=StopRequest,
        left_out="`countersign reduce-only` also works while no gateway runs",
    ),
    Act(
        name="stops.secure",
        summary="Secure reasoning: nothing is drafted",
        says="Sample every forecast from the target alone from now on, until both officers"
        " sign its end.",
        action="stop",
        path="/v1/stops/secure",
        body=StopRequest,
        left_out="`countersign secure` also works while no gateway runs",
    ),
    Act(
        name="stops.cancel_all",
        summary="Cancel every live order",
        says="Cancel every order that may work at the broker, paced; new orders may follow.",
        action="stop",
        path="/v1/stops/cancel-all",
        body=StopRequest,
        verb=Verb(
            words="cancel-all",
            example='--reason "end of the test"',
            line="{live:n} orders are being cancelled",
        ),
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
        left_out="`countersign flatten` asks before it acts",
    ),
    Act(
        name="stops.resume",
        summary="End the stops in force",
        says="End your own stops, or another person's with one officer's signature.",
        action="stop",
        path="/v1/stops/resume",
        body=ResumeRequest,
        left_out="`countersign resume` signs with the keys that are named, or with none",
    ),
)
