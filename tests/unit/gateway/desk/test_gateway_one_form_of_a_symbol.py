"""What the table lists can be named everywhere: one form of a symbol (repro r07)."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

import gateway.desk
import gateway.feeds
import gateway.installation.keys
import risk.policy
from gateway.feeds.instruments.fields import FIELDS
from gateway.walk.journal.words import EVERY
from risk.intent import SYMBOL

NAMES = frozenset({"instrument", "instruments", "symbol", "symbols"})
SHOWN = frozenset({"OrderLine", "ForeignLine", "HoldLine", "KeyScope", "Policy", "Settings"})
"""Answers repeat what is on record; these hold checked values, entries, or a file's path."""


def models(of: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for one in of.__subclasses__():
        yield one
        yield from models(one)


def fields() -> dict[str, TypeAdapter[Any]]:
    """Return what reads a symbol, in every model that takes one from outside."""
    for package in (gateway.desk, gateway.feeds, gateway.installation.keys, risk.policy):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found: dict[str, TypeAdapter[Any]] = {}
    for model in models():
        if not model.__module__.startswith(("gateway.", "risk.")) or model.__name__ in SHOWN:
            continue
        for name in NAMES & model.model_fields.keys():
            said = model.model_fields[name]
            form: Any = said.annotation
            if said.metadata:
                form = Annotated[(form, *said.metadata)]
            found[f"{model.__name__}.{name}"] = TypeAdapter(form)
    return found


FOUND = fields()


def takes(adapter: TypeAdapter[Any], text: str) -> bool:
    for value in (text, [text], (text,)):
        try:
            adapter.validate_python(value)
        except ValidationError:
            continue
        return True
    return False


def listed(text: str) -> bool:
    try:
        FIELDS["symbol"].read(text)
    except ValueError:
        return False
    return True


def test_every_kind_of_request_is_among_them() -> None:
    names = {name.partition(".")[0] for name in FOUND}
    kinds = {"IntentRequest", "AdjustRequest", "PositionLine", "OverrideTerms", "PublicationBody"}
    assert (
        kinds | {"FlattenRequest", "PostedQuote", "_File", "InstrumentPolicy", "PilotSettings"}
        <= names
    )


@pytest.mark.parametrize("name", sorted(FOUND))
@given(text=st.from_regex(SYMBOL, fullmatch=True) | st.text("AZaz09._-* \n/é", max_size=66))
def test_a_request_names_what_the_table_lists_and_nothing_else(name: str, text: str) -> None:
    if text not in {"", EVERY}:  # none, and every one where a request may say so
        assert takes(FOUND[name], text) is listed(text)


@pytest.mark.parametrize("name", ["BTC-USD", "brk.b", "ES_202612", "A" * 64, "9"])
def test_names_that_traders_use_are_listed(name: str) -> None:
    assert listed(name)
    assert all(takes(adapter, name) for adapter in FOUND.values())
