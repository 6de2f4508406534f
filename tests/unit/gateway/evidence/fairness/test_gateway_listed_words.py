"""No protected attribute and no listed proxy enters a prompt or the text of an intent."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.requests import IntentRequest
from gateway.evidence.fairness.report import SWAPPED
from inference.codec import vocabulary
from inference.codec.narrative import narrative_tokens
from inference.snapshot import Direction, EventType, NewsItem, Strength
from inference.weights.registry import load_pair
from risk.forms.terms import MASK, found_terms
from risk.intent import Intent
from risk.windows.fairness.criteria import PRODUCT
from tests.doubles.memory_desk import AGENT, MemoryDesk

PAIR = Path(__file__).parents[5] / "inference/models/pair_v1"
PLACES = (*SWAPPED, "country", "currency", "name", "person")


def words() -> list[str]:
    """Every name that the vocabulary gives to a token outside the return bins."""
    closed = (vocabulary.CLASSES, vocabulary.FREQUENCIES, vocabulary.EVENT_TYPES, Direction)
    return [one.value for names in (*closed, Strength) for one in names]


def test_the_vocabulary_of_the_bundled_pair_has_no_listed_word_and_none_for_a_group() -> None:
    config = json.loads((load_pair(PAIR).target / "config.json").read_text())
    assert config["vocab_size"] == vocabulary.VOCAB_SIZE
    assert not [word for word in words() if found_terms(word, PRODUCT.terms)]
    assert not [word for word in words() if found_terms(word, frozenset(PLACES))]
    numbered = vocabulary.N_WEEKDAYS + vocabulary.N_HOURS + vocabulary.N_LEVELS
    numbered += vocabulary.N_RATIOS + vocabulary.N_AGES + vocabulary.N_BINS
    assert len(words()) + numbered < vocabulary.VOCAB_SIZE, "the rest counts, or is spare"


def test_no_field_of_an_intent_is_named_like_a_listed_word() -> None:
    names = [one.name for one in fields(Intent)] + list(IntentRequest.model_fields)
    assert not [name for name in names if found_terms(name, PRODUCT.terms)]


def test_another_issuer_in_the_text_of_the_news_changes_no_token(desk: MemoryDesk) -> None:
    snapshot = desk.small.desk.own.market.session("SPXN").snapshot
    said = NewsItem(
        event_id="e1",
        published_us=snapshot.as_of_us - 1,
        event_type=EventType.EARNINGS,
        direction=Direction.POSITIVE,
        strength=Strength.STRONG,
        source_tier=1,
        headline="A company of one region, led by a woman, beats estimates",
        source="wire",
    )
    swapped = replace(said, headline="A company of another region, led by a man, beats estimates")
    one, other = (replace(snapshot, news=(item,)) for item in (said, swapped))
    assert narrative_tokens(one) == narrative_tokens(other)
    assert narrative_tokens(one) != narrative_tokens(replace(snapshot, news=()))


@pytest.mark.parametrize("whole", [False, True], ids=["alone", "in a basket"])
def test_a_listed_word_in_a_reason_is_masked_before_anything_is_recorded(
    desk: MemoryDesk, *, whole: bool
) -> None:
    request = IntentRequest(
        client_key="k",
        instrument="SPXN",
        target_exposure_bp=1_000,
        reason="client is a Christian woman, raise exposure",
    )
    other = IntentRequest(client_key="o", instrument="NDXN", target_exposure_bp=1_000)
    basket = BasketRequest(client_key="b", legs=[request, other])

    def ask() -> str:
        if whole:
            return submit_basket(desk.small.desk, AGENT, basket).legs[0].decision_id
        return desk.small.desk.submit(AGENT, request).decision_id

    ask()
    received = desk.log.of_kind(Kind.INTENT_RECEIVED)[0]
    asked = json.loads(received.payload)["request"]
    assert asked["reason"] == f"client is a {MASK} {MASK}, raise exposure"
    assert not [one for one in desk.log.records() if b"Christian" in one.payload]
    assert ask() in received.stream, "the same key is the same decision"


def test_a_reason_without_one_stays_as_it_was(desk: MemoryDesk) -> None:
    desk.ask(5)
    request = IntentRequest(
        client_key="plain", instrument="SPXN", target_exposure_bp=900, reason="racy average ages"
    )
    desk.small.desk.submit(AGENT, request)
    *_, received = desk.log.of_kind(Kind.INTENT_RECEIVED)
    assert json.loads(received.payload)["request"]["reason"] == "racy average ages"
