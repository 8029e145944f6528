"""YAML read as JSON would be (SPEC 10.6; OpenAPI's own rule for documents in YAML).

OpenAPI allows YAML only as far as JSON says the same. So a plain word is text unless JSON knows it as a number, a truth
value or null: `no`, `on`, `2026-12-01`, `12:30` and `010` stay as they are written. Nothing of Python is ever made.
What has no one meaning in JSON is refused, with its line: a key twice, a merge key, a tag, a key that is no text, a
second document.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import orjson
import yaml

from remit._base.boundary import Json

_PLAIN: Final = "remit:plain"
_TEXT: Final = "tag:yaml.org,2002:str"
_LIST: Final = "tag:yaml.org,2002:seq"
_OBJECT: Final = "tag:yaml.org,2002:map"
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,400})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_WORDS: Final[Mapping[str, bool | None]] = MappingProxyType(
    {
        "": None,
        "~": None,
        "null": None,
        "Null": None,
        "NULL": None,
        "true": True,
        "True": True,
        "TRUE": True,
        "false": False,
        "False": False,
        "FALSE": False,
    }
)
_MOST: Final = 300_000
_DEEPEST: Final = 100


class NotYaml(Exception):
    """What cannot be read, and where; the message is for authors and operators."""


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]  # the fast one where it is built
    """Makes nodes and nothing else; a plain word has a tag of its own, so that it differs from a quoted one."""


_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)


def read_yaml(data: bytes) -> Json:
    """Read one document; NotYaml says what is wrong, with the line."""
    try:
        node = yaml.compose(data, Loader=_Loader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        at = "" if mark is None else f"line {mark.line + 1}: "
        raise NotYaml(f"{at}{problem.problem or 'is no YAML'}") from problem
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as problem:
        raise NotYaml("is no YAML") from problem
    return None if node is None else _Reader().value(node, 0)


class _Reader:
    """Nodes as values; what aliases repeat counts each time, so that a few lines cannot become millions of values."""

    def __init__(self) -> None:
        self._read = 0

    def value(self, node: Any, depth: int) -> Json:
        self._read += 1
        if self._read > _MOST:
            raise NotYaml(f"has more than {_MOST} values, aliases counted each time")
        if depth > _DEEPEST:
            raise _at(node, f"is nested deeper than {_DEEPEST}, or in a circle")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node.tag not in (_LIST, _OBJECT):
            raise _at(node, f"has the tag {str(node.tag)[:60]}, which JSON does not know")
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each, depth + 1) for each in node.value]
        return self._object(node, depth)

    def _scalar(self, node: Any) -> Json:
        text: str = node.value
        if node.tag == _TEXT:
            return text
        if node.tag != _PLAIN:
            raise _at(node, f"has the tag {str(node.tag)[:60]}, which JSON does not know")
        if text in _WORDS:
            return _WORDS[text]
        if _NUMBER.fullmatch(text):
            try:
                number: Json = orjson.loads(text)
            except orjson.JSONDecodeError:
                raise _at(node, "is a number that JSON cannot hold") from None
            return number
        return text

    def _object(self, node: Any, depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for key, value in node.value:
            name = self._key(key)
            if name in made:
                raise _at(key, f"the key {name[:60]!r} stands twice")
            made[name] = self.value(value, depth + 1)
        return made

    def _key(self, key: Any) -> str:
        """A key is its text: `200` and `on` too, which other readers take for a number and a truth value."""
        if not isinstance(key, yaml.ScalarNode) or key.tag not in (_TEXT, _PLAIN):
            raise _at(key, "a key that is no text")
        name: str = key.value
        if name == "<<" and key.tag == _PLAIN:
            raise _at(key, "a merge key, which JSON does not know; write the fields out")
        return name


def _at(node: Any, what: str) -> NotYaml:
    return NotYaml(f"line {node.start_mark.line + 1}: {what}")
