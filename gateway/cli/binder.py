"""The acts of the table as verbs: one loop, no verb by hand.

The path's ids become arguments and the body's fields options. The body is checked here, sent
through the local door, and checked there by the same class. Both officers' keys sign what the desk
says that they sign (`gateway.desk.signing`).

The table is read when a word is called that no module of verbs has, so that every other verb stays
as light as it is.
"""

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin
from urllib.parse import quote

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from gateway.cli.lines import lines_of
from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from typer._click import Command, Context

    from gateway.acts.act import Act
    from gateway.acts.verb import Verb

WITHIN_S: Final = 10.0
_KEY_BYTES: Final = 12
_CLIENT_KEY: Final = "client_key"
_SCALARS: Final = (str, int, bool)


class Nouns(TyperGroup):
    """A group that has the acts' verbs beside its own."""

    @override
    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        found = super().get_command(ctx, cmd_name)
        return found if found is not None else _beside(ctx).get(cmd_name)

    @override
    def list_commands(self, ctx: "Context") -> list[str]:
        own = super().list_commands(ctx)
        return own if ctx.parent is None else sorted({*own, *_beside(ctx)})


def _beside(ctx: "Context") -> "dict[str, Command]":
    """Return the acts' verbs under the words of a group, by name."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    home: Any = _commands()
    for word in words:
        home = home.commands.get(word)
    return dict(getattr(home, "commands", {}))


@cache
def _commands() -> Any:  # noqa: ANN401 - of Typer's private class
    return get_command(acts_app())


@cache
def acts_app() -> typer.Typer:
    """Return the verbs of every act of the table that has one."""
    from gateway.acts.table import ACTS

    app, nouns = typer.Typer(), dict[str, typer.Typer]()
    for act in ACTS:
        if (verb := act.verb) is None:
            continue
        noun, _, word = verb.words.rpartition(" ")
        home = app
        if noun:
            if noun not in nouns:
                nouns[noun] = typer.Typer(name=noun, help=act.summary, no_args_is_help=True)
                app.add_typer(nouns[noun])
            home = nouns[noun]
        home.command(word, help=_help(act, verb))(_asking(act, verb))
    return app


def _help(act: "Act", verb: "Verb") -> str:
    signed = " Both officers' keys must sign." if verb.signs else ""
    mark = "" if act.summary.endswith("?") else "."
    example = f"countersign {verb.words} {verb.example}".rstrip()
    return f"{act.summary}{mark}\n\n{act.says}{signed}\n\nExample: {example}"


def _asking(act: "Act", verb: "Verb") -> Callable[..., None]:
    """Return a function whose signature says what the act needs; Typer reads it."""

    def ask(**given: Any) -> None:  # noqa: ANN401 - of the row's types
        raise typer.Exit(_asked(act, verb, given))

    ask.__name__ = act.name.replace(".", "_")
    ask.__signature__ = Signature([*_parameters(act, verb)])  # type: ignore[attr-defined]
    return ask


def _parameters(act: "Act", verb: "Verb") -> Iterator[Parameter]:
    """Yield the verb's parameters; an id or field has a low line after its name."""
    for place in act.places:
        said = verb.arguments.get(place) or place.replace("_", " ")
        argument = typer.Argument(help=said, metavar=place.upper())
        yield _parameter(f"{place}_", Annotated[act.ids.get(place, str), argument])
    for name, info in _fields(act, verb):
        kind, default = _kind(info), _default(verb, name, info)
        said = verb.arguments.get(name) or info.description or name.replace("_", " ")
        if name in verb.arguments:
            argument = typer.Argument(help=said, metavar=name.upper())
            yield _parameter(f"{name}_", Annotated[kind, argument])
            continue
        called = verb.called.get(name, _called(name))
        kind = kind if default is Parameter.empty else kind | None
        yield _parameter(f"{name}_", Annotated[kind, typer.Option(called, help=said)], default)
    if verb.file:
        argument = typer.Argument(help="JSON file of what is asked; - reads standard input")
        yield _parameter("file", Annotated[Path, argument])
    if verb.signs:
        yield _parameter("risk_key", RiskKeyOption, None)
        yield _parameter("compliance_key", ComplianceKeyOption, None)
    key = typer.Option("--as", help="name of your key in the key folder")
    yield _parameter("actor", Annotated[str, key], verb.key)
    yield _parameter("state", StateOption, None)
    printed = typer.Option("--json", help="print the answer as JSON")
    yield _parameter("as_json", Annotated[bool, printed], False)  # noqa: FBT003 - a default


def _called(name: str) -> str:
    return "--key" if name == _CLIENT_KEY else f"--{name.replace('_', '-')}"


def _parameter(name: str, kind: object, default: object = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _fields(act: "Act", verb: "Verb") -> "Iterator[tuple[str, FieldInfo]]":
    """Yield the fields that are options: texts, numbers, flags, and lists of them."""
    if act.body is None or verb.file:
        return
    for name, info in act.body.model_fields.items():
        if _kind(info) is not None:
            yield name, info


def _kind(info: "FieldInfo") -> Any:  # noqa: ANN401 - a type, for Typer
    """Return the type of an option, or None for what only a file can say."""
    kinds = [one for one in _members(info.annotation) if one is not NoneType]
    if len({*kinds} & {*_SCALARS}) == len(kinds) == 1:
        return kinds[0]
    lists = [get_args(one) for one in kinds if get_origin(one) is list]
    return list[str] if lists and _members(lists[0][0]) == [str] else None


def _members(kind: Any) -> list[Any]:  # noqa: ANN401 - a type
    """Return the plain types of an annotation: of a union each, of words `str`."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _members(get_args(kind)[0])
    if origin is Literal:
        return [str]
    if origin in {Union, UnionType}:
        return list(dict.fromkeys(one for part in get_args(kind) for one in _members(part)))
    return [kind]


def _default(verb: "Verb", name: str, info: "FieldInfo") -> Any:  # noqa: ANN401 - of the field
    if name in verb.given:
        return verb.given[name]
    if name == _CLIENT_KEY or not info.is_required():
        return info.default if isinstance(info.default, _SCALARS) else None
    return Parameter.empty


def _asked(act: "Act", verb: "Verb", given: dict[str, Any]) -> int:
    """Ask the running gateway and print its answer; return the exit code.

    Raises:
        RequestError: a field is wrong, or the gateway refused.
        SettingsError: a key file holds no key.
        OSError: no gateway runs, or the file cannot be read.
    """
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.local import client
    from gateway.installation.state import StateFolder

    state = StateFolder.of(settings_of(given["state"]))
    keyring = Keyring(state.keys)
    token = keyring.token(given["actor"])
    ids = {place: given[f"{place}_"] for place in act.places}
    path = act.path.format(**{place: quote(str(one), safe="") for place, one in ids.items()})
    if act.body is None:
        answer = client.get(state, path, token, WITHIN_S).granted()
        known: dict[str, Any] = ids
    else:
        body = _body(act, act.body, verb, given)
        if verb.signs:
            from gateway.desk.signing import AskedToSign, signatures_of

            read = client.get(state, verb.signs, token, WITHIN_S).granted()
            key_files = {"risk": given["risk_key"], "compliance": given["compliance_key"]}
            asked = AskedToSign(name=act.name, actor=given["actor"], ids=ids, body=body, read=read)
            body = body.model_copy(update={"signatures": signatures_of(asked, keyring, key_files)})
        document = body.model_dump(mode="json")
        content = json.dumps(document)
        answer = client.post(state, path, content, token, WITHIN_S).granted()
        known = {**document, **ids}
    said = [json.dumps(answer, indent=2)] if given["as_json"] else lines_of(verb, answer, known)
    sys.stdout.writelines(f"{line}\n" for line in said)
    return int(bool(verb.warns and answer.get(verb.warns)))


def _body(act: "Act", model: "type[BaseModel]", verb: "Verb", given: dict[str, Any]) -> "BaseModel":
    """Return the body of the options or of the file.

    Raises:
        RequestError: names the option, or the file and its field.
    """
    from pydantic import ValidationError

    from gateway.errors import RequestError

    try:
        if verb.file:
            file: Path = given["file"]
            text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
            return model.model_validate_json(text)
        said = {name: given[f"{name}_"] for name, _ in _fields(act, verb)}
        if _CLIENT_KEY in said:
            said[_CLIENT_KEY] = said[_CLIENT_KEY] or secrets.token_hex(_KEY_BYTES)
        return model.model_validate({k: v for k, v in said.items() if v is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, *inside = map(str, first["loc"] or ("",))  # of what is no JSON object, no field
        if verb.file:
            where = f"{given['file']}: {name}" if name else str(given["file"])
        else:
            where = verb.called.get(name, _called(name))
        why = first["msg"]
        if first["type"] == "string_pattern_mismatch":
            field = None if inside else model.model_fields.get(name)
            why = f"{str(first['input'])[:24]!r} is not written as it must be"
            why += f": {first['msg'] if field is None else field.description}"
        raise RequestError(problem=f"{'.'.join([where, *inside])}: {why}") from None
