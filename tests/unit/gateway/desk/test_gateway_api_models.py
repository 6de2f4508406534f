"""Bodies of the API: what cannot be read by a person does not come in as words."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from gateway.desk.bodies.requests import ApprovalRequest, IntentRequest, KillRequest, ReleaseRequest
from gateway.feeds.text import show_hidden_text

FAIR: dict[type[BaseModel], dict[str, Any]] = {
    IntentRequest: {"client_key": "k", "instrument": "SPXN", "target_exposure_bp": 500},
    ApprovalRequest: {"approve": True, "intent_digest": "0" * 64, "note": "read"},
    ReleaseRequest: {"kill_epoch": 1, "signatures": {}},
}
WORDS = {IntentRequest: "reason", ApprovalRequest: "note", ReleaseRequest: "reason"}
HIDDEN = ["up\u202eown", "a\x00b", "a\nb", "zero\u200bwidth", "tag\U000e0041", "x\ufe0f"]


@pytest.mark.parametrize("body", FAIR, ids=lambda body: body.__name__)
@pytest.mark.parametrize("text", HIDDEN)
def test_words_with_a_character_that_nobody_sees_are_refused(
    body: type[BaseModel], text: str
) -> None:
    fair = FAIR[body]
    kept = body.model_validate({**fair, WORDS[body]: "déjà vu, 20 % – 東京"})
    assert getattr(kept, WORDS[body]) == "déjà vu, 20 % – 東京"
    with pytest.raises(ValidationError, match="invisible character U\\+"):
        body.model_validate({**fair, WORDS[body]: text})


@pytest.mark.parametrize(
    "price", ["\u0662\u0666\u0669.5", "269.\uff15", "269.5\n", "", ".5", "1e3"]
)
def test_a_price_is_written_in_the_ten_digits(price: str) -> None:
    with pytest.raises(ValidationError):
        IntentRequest.model_validate({**FAIR[IntentRequest], "limit_price": price})


@pytest.mark.parametrize("text", HIDDEN)
def test_a_kill_is_never_refused_for_its_spelling_and_shows_what_was_hidden(text: str) -> None:
    assert KillRequest(reason=text).reason == text
    shown = show_hidden_text(text)
    assert "<U+" in shown
    assert show_hidden_text(shown) == shown
    assert show_hidden_text("stop – now") == "stop – now"
