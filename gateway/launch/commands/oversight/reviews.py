"""The verb review: blind reviews, through the running gateway, with a person's own key."""

import json
import sys
from typing import Any, Final

from gateway.installation.keys.keyring import Keyring
from gateway.installation.local.client import get, post
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder

WITHIN_S: Final = 10.0
ROUTE: Final = "/v1/reviews"


def list_reviews(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print the samples on record with their agreement, newest first; return 0."""
    found = _get(settings, name, ROUTE)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for one in found["reviews"]:
        sys.stdout.write(f"{_line(one)}\n")
    if not found["reviews"]:
        sys.stdout.write(
            "no sample was drawn yet: countersign review draw --from 2026-11-16 --to 2026-11-22\n"
        )
    return 0


def draw(settings: Settings, name: str, days: tuple[str, str], count: int) -> int:
    """Draw a sample of the days; return 0."""
    body = {"first_day": days[0], "last_day": days[1], "count": count}
    sys.stdout.write(f"{_line(_post(settings, name, ROUTE, body))}\n")
    return 0


def show(settings: Settings, name: str, seq: int, *, as_json: bool) -> int:
    """Print a sample as this reviewer may see it; return 0."""
    found = _get(settings, name, f"{ROUTE}/{seq}")
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    sys.stdout.write(f"{_line(found)}\n")
    for item in found["items"]:
        sheet = item["sheet"]
        closes = " ".join(str(close) for _, close in sheet.get("closes", [])[-10:])
        news = "; ".join(one["headline"] or one["event_type"] for one in sheet.get("news", []))
        given = (
            f"you said {item['answer']}, the model {item['model']}" if item["answer"] else "open"
        )
        sys.stdout.write(
            f"\n{item['decision_id']}: {given}\n  {sheet.get('instrument', '?')}, last closes in"
            f" ticks {closes}\n  position {sheet.get('current_lots', '?')} lots,"
            f" {sheet.get('current_exposure_bp', '?')} bp of equity\n  news: {news or 'none'}\n"
        )
    return 0


def answer(settings: Settings, name: str, seq: int, decision_id: str, said: tuple[str, str]) -> int:
    """Record an answer and its note, and print the model's; return 0."""
    body = {"answer": said[0], "note": said[1]}
    done = _post(settings, name, f"{ROUTE}/{seq}/answers/{decision_id}", body)
    sys.stdout.write(
        f"on record as {done['seq']}: you said {done['answer']}, the model {done['model']}\n"
    )
    return 0


def _line(one: dict[str, Any]) -> str:
    kappa = one["kappa_ppm"]
    text = "kappa not defined yet" if kappa is None else f"kappa {kappa / 1_000_000:.2f}"
    return (
        f"review {one['seq']}: {one['first_day']} to {one['last_day']}, {len(one['decisions'])} of"
        f" {one['proposed']} decisions, {one['cases']} answers, {one['agreed']} agree, {text}"
    )


def _get(settings: Settings, name: str, route: str) -> dict[str, Any]:
    state = StateFolder.of(settings)
    return get(state, route, Keyring(state.keys).token(name), WITHIN_S).granted()


def _post(settings: Settings, name: str, route: str, body: dict[str, Any]) -> dict[str, Any]:
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)
    return post(state, route, json.dumps(body), token, WITHIN_S).granted()
