"""How an act is asked on the command line: its words, its options, and how its answer is said.

Values only: `gateway.cli.binder` makes the verb.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """The verb of an act.

    A path's ids are arguments, a body's fields options with the fields' descriptions. A line is a
    format string over the answer's fields, the ids and what was asked.

    Attributes:
        words: what calls it, `publications add`.
        example: what follows the words in the example of the help.
        line: how the answer is said, or each item of it; without one, the answer is printed.
        items: the field of the answer that has the items.
        head: a line before the items.
        none: what is said instead of no items.
        warns: the field of the answer with what is wrong: exit code 1 while it has something.
        key: whose key asks, unless `--as` names another one.
        arguments: help of the path's ids, and the body's fields that are arguments, in order; an
            empty text stands for the field's description.
        called: other names of options, by field.
        given: defaults that the body does not have, by field.
        file: the body is one JSON file; a body that has more than texts and numbers needs it.
        signs: the read whose answer has the log id and what both officers' statement names; their
            keys sign what `gateway.desk.signing` makes of it.
    """

    words: str
    example: str
    line: str = ""
    items: str = ""
    head: str = ""
    none: str = ""
    warns: str = ""
    key: str = "operator"
    arguments: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    file: bool = False
    signs: str = ""
