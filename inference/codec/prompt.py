"""What the engine is asked: token ids, and the scale that turns its answer into returns.

Not here: how ids are made (``codec.py``). A prompt is a value; its digest is what the ledger
commits to before inference runs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from inference.errors import CodecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Token ids plus the codec state after the last bar.

    The variances are hex floats (``float.hex``): exact, and allowed in the ledger.
    """

    token_ids: tuple[int, ...]
    template: str
    codec_digest: str
    var_fast: str
    var_slow: str
    var_long: str
    sigma: str


def prompt_document(prompt: Prompt) -> dict[str, Any]:
    """Give the prompt as JSON values without floats."""
    return {
        "token_ids": list(prompt.token_ids),
        "template": prompt.template,
        "codec_digest": prompt.codec_digest,
        "var_fast": prompt.var_fast,
        "var_slow": prompt.var_slow,
        "var_long": prompt.var_long,
        "sigma": prompt.sigma,
    }


def prompt_from_document(document: dict[str, Any]) -> Prompt:
    """Read back what ``prompt_document`` gave.

    Raises:
        CodecError: A field is missing, surplus or of another type.
    """
    try:
        texts = {name: document[name] for name in _TEXTS}
        ids = tuple(document["token_ids"])
    except (KeyError, TypeError) as error:
        raise CodecError(f"expected a prompt document, was {error!r}") from error
    if len(document) != len(_TEXTS) + 1:
        raise CodecError(f"expected {len(_TEXTS) + 1} fields, was {len(document)}")
    if not all(isinstance(text, str) for text in texts.values()):
        raise CodecError("expected text in every field but token_ids")
    if not all(type(token) is int for token in ids):
        raise CodecError("expected integer token ids")
    return Prompt(token_ids=ids, **texts)


def prompt_digest(prompt: Prompt) -> str:
    """Hash the canonical document (SHA-256, hex).

    Keys are sorted and every value is ASCII text or an integer, so this form is RFC 8785 too.
    """
    text = json.dumps(prompt_document(prompt), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


_TEXTS = ("template", "codec_digest", "var_fast", "var_slow", "var_long", "sigma")
