"""The GJR twin of one decision, as page values."""

from dataclasses import dataclass

from gateway.surfaces.web.views.body import Body
from inference.errors import InferenceError
from inference.forecast.forecast import Forecast, forecast_from_document


@dataclass(frozen=True, slots=True, kw_only=True)
class GjrView:
    """What is on record of the twin.

    Attributes:
        forecast: None where there is none.
        missing: Why there is none; empty if there is one, and in records of earlier versions.
        fitter: Who estimated its parameters.
        judged: Its sizing, intent and verdict.
    """

    forecast: Forecast | None
    missing: str
    fitter: str
    judged: Body


def gjr_view(made: Body, judged: Body) -> GjrView:
    """Return the values of the page's part about the twin."""
    document, forecast = made.fields.get("forecast"), None
    if isinstance(document, dict):
        try:
            forecast = forecast_from_document(document)
        except InferenceError:
            forecast = None
    return GjrView(
        forecast=forecast,
        missing=made.text("detail") or made.text("missing"),
        fitter=made.text("fitter"),
        judged=judged,
    )
