"""The door to a folder's tokenizer and chat template.

Both are data of the folder: `tokenizer.json` is read by the tokenizers library, the chat template
runs in Jinja's immutable sandbox and sees the messages and the folder's own special tokens only.
Neither runs code of the folder.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from inference.codec.text.answer import BEGINNING, DIGITS, SEPARATOR, SIGNS
from inference.errors import CodecError

_PLAIN: Final = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
"""The chat template of a folder that has none."""


class TextTokenizer:
    """A tokenizer with its chat template. Thread-safe: encoding changes nothing."""

    def __init__(self, tokenizer: bytes, settings: bytes = b"{}", template: bytes = b"") -> None:
        """Read `tokenizer.json`, and `tokenizer_config.json` and `chat_template.jinja` if any.

        Raises:
            CodecError: a file is damaged, or a character of the answer is no token of this
                tokenizer.
        """
        found, text = _settings(settings, template)
        try:
            self._tokenizer = Tokenizer.from_str(tokenizer.decode())
        except Exception as error:  # tokenizers raises bare Exception
            raise CodecError(f"tokenizer.json cannot be read: {error}") from error
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise
        try:
            self._template = environment.from_string(text)
        except TemplateError as error:
            raise CodecError(f"the chat template cannot be read: {error}") from error
        self._special = {
            name: _content(found.get(name)) for name in ("bos_token", "eos_token", "unk_token")
        }
        added = self._tokenizer.get_added_tokens_decoder()
        self._control = frozenset(number for number, one in added.items() if one.special)
        self.separators = self._separators()
        characters = (*SIGNS, *DIGITS, *self.separators)
        self.answer_ids = tuple(self._one(text) for text in characters)
        self.digest = hashlib.sha256(
            b"\x00".join(hashlib.sha256(part).digest() for part in (tokenizer, text.encode()))
        ).hexdigest()

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return max(self._tokenizer.get_vocab(with_added_tokens=True).values()) + 1

    def prompt_text(self, system: str, user: str) -> str:
        """Return the whole text before the first sampled character.

        Raises:
            CodecError: the chat template refuses these messages, or needs more than them.
        """
        both = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        one = [{"role": "user", "content": f"{system}\n{user}"}]
        try:
            text = self._rendered(both)
        except TemplateError:
            text = self._rendered_or_refused(one)  # some templates know no system role
        if user not in text:
            raise CodecError("the chat template leaves out or changes what it is given")
        return text + BEGINNING

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text; the text of a control token is that token."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def holds_control(self, text: str) -> bool:
        """Return whether a text would become a control token anywhere."""
        return not self._control.isdisjoint(self.encode(text))

    def _rendered_or_refused(self, messages: Sequence[dict[str, str]]) -> str:
        try:
            return self._rendered(messages)
        except TemplateError as error:
            raise CodecError(f"the chat template: {error}") from error

    def _rendered(self, messages: Sequence[dict[str, str]]) -> str:
        return self._template.render(
            messages=messages, add_generation_prompt=True, tools=None, **self._special
        )

    def _separators(self) -> tuple[str, ...]:
        whole = self._tokenizer.token_to_id(SEPARATOR) is not None
        return (SEPARATOR,) if whole else tuple(SEPARATOR)

    def _one(self, text: str) -> int:
        found: int | None = self._tokenizer.token_to_id(text)
        if found is None:
            raise CodecError(f"the tokenizer has no token {text!r}, which an answer needs")
        return found


def _content(token: object) -> str:
    """Return a special token's text: plain, or an object with its content."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _settings(data: bytes, template: bytes) -> tuple[dict[str, Any], str]:
    """Return the tokenizer's settings and its one chat template."""
    try:
        found: dict[str, Any] = json.loads(data)
        text = template.decode() or found.get("chat_template") or _PLAIN
    except (ValueError, AttributeError) as error:
        raise CodecError(f"tokenizer_config.json cannot be read: {error}") from error
    if not isinstance(text, str):
        raise CodecError("tokenizer_config.json has several chat templates; keep one")
    return found, text
