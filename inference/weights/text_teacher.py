"""Rows of a text model's answers by teacher forcing, without an engine.

The second implementation is transformers' own, with eager attention in float32, read from the same
safetensors. It is not exact as `teacher.py` is: two float32 sums in another order differ in their
last bits, so the tolerance is wider.

Not here: the comparison (`regeneration.py`).
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from inference.codec.alphabet import Alphabet
from inference.errors import RegistryError
from inference.weights.teacher import Doubles

TEXT_TOLERANCE: Final = 2e-4
"""Largest accepted gap of a probability or of a sum of probabilities."""


class TextTeacher:
    """One text model of a pair, in float32."""

    def __init__(self, folder: Path, alphabet: Alphabet) -> None:
        """Load the model.

        Raises:
            RegistryError: transformers does not know the architecture, or a file is damaged.
        """
        self._alphabet = alphabet
        # Seconds of imports, which only a pair of text models needs.
        self._torch: Any = import_module("torch")
        models: Any = import_module("transformers")
        try:
            self._model = models.AutoModelForCausalLM.from_pretrained(
                str(folder),
                dtype=self._torch.float32,
                attn_implementation="eager",
                trust_remote_code=False,
                use_safetensors=True,
                local_files_only=True,
            )
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise RegistryError(f"model in {folder.name}: {error}") from error

    def rows(
        self, prompt: Sequence[int], answers: Sequence[Sequence[int]], bins: slice
    ) -> list[Doubles]:
        """Return, for each answer, the row over the symbols before each of its tokens.

        Raises:
            RegistryError: when the model does not know a token.
        """
        torch, alphabet = self._torch, self._alphabet
        longest = max((len(answer) for answer in answers), default=0)
        padded = [[*answer, *[alphabet.start] * (longest - len(answer))] for answer in answers]
        ids = [[alphabet.id_of(token) for token in answer[:-1]] for answer in padded]
        size = self._model.get_input_embeddings().weight.shape[0]
        if any(not 0 <= token < size for row in (prompt, *ids) for token in row):
            raise RegistryError("a token outside the model's vocabulary")
        with torch.inference_mode():
            read = self._model(torch.tensor([list(prompt)]), use_cache=True)
            logits = read.logits[:, -1:].repeat(len(answers), 1, 1)
            if longest > 1:
                cache = read.past_key_values
                cache.batch_repeat_interleave(len(answers))
                more = self._model(torch.tensor(ids), past_key_values=cache, use_cache=True)
                logits = torch.cat((logits, more.logits), dim=1)
        scores = logits[:, :, alphabet.columns].double().numpy()
        masks = alphabet.masks(range(longest))
        if masks is not None:
            scores = np.where(masks[None], scores, -np.inf)
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found = raised / raised.sum(axis=-1, keepdims=True)
        return [found[i, : len(answer), bins] for i, answer in enumerate(answers)]
