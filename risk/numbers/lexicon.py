"""The lexicon of fairness: words of protected attributes, of proxies and of regions.

Rules:
- A word is compared folded (NFKC, lower case), as a whole word. One that no text could ever have
  is refused.
- A protected word holds a decision; a proxy or region needs a registered justification.
- A new word needs both officers' signatures and no code.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from risk.forms.terms import folded_words, is_findable
from risk.numbers.stated import Day, Name, PolicyModel, Text

Word = Annotated[str, Field(pattern=r"^\w{1,64}$")]


class LexiconWord(PolicyModel):
    """One word, by itself.

    Attributes:
        attribute: What it says of somebody or something, such as `religion` or `region`.
        sort: `protected` for an attribute of persons, else what stands for one, or a region.
    """

    name: Word
    attribute: Name
    sort: Literal["protected", "proxy", "region"]
    owner: Text
    why: Text
    review_by: Day


class FairnessLexicon(PolicyModel):
    """Words that the fairness gate looks for; each stands once, and an attribute has one sort."""

    words: tuple[LexiconWord, ...]

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if not self.words:
            raise ValueError("a lexicon has at least one word; leave an empty one out")
        if len({one.name for one in self.words}) != len(self.words):
            raise ValueError("the lexicon has a word twice")
        if any(one.name != one.name.casefold() for one in self.words):
            raise ValueError("words stand in lower case")
        for one in self.words:
            if not is_findable(one.name):
                found = " and ".join(folded_words(one.name)) or "letters or digits"
                raise ValueError(f"no text can have the word {one.name!r}: write {found} instead")
        pairs = {(one.attribute, one.sort) for one in self.words}
        if len({attribute for attribute, _ in pairs}) != len(pairs):
            raise ValueError("an attribute has two sorts")
        return self
