"""The subset of JSON Schema 2020-12 that agents see: rewriting what fits, refusing the rest by its path (SPEC 3.5)."""

import re
from collections.abc import Mapping
from typing import Final, cast

from remit._base.boundary import Json, NotJson, canonical, take
from remit._base.limits import Limits
from remit._base.text import first_bad, first_bad_inside
from remit._schema.judge import FORMATS, compile_schema, pattern_is_linear
from remit._schema.vocabulary import (
    ANNOTATIONS,
    COUNTS,
    DIALECTS,
    FLAGS,
    FORMAT_HINTS,
    KEYWORD_HINTS,
    KEYWORDS,
    NUMBERS,
    TEXTS,
    TYPES,
)
from remit.errors import DefinitionCode, DefinitionError

_REF: Final = re.compile(r"#/\$defs/(.+)")
# Nodes inside one another while walking, unions and references too; far above any schema that passes.
_MAX_WALK: Final = 64
_LIMITS: Final = Limits()
_WRONG: Final = DefinitionCode.UNSUPPORTED_SCHEMA

Node = dict[str, Json]


def to_subset(schema: Mapping[str, object], *, subject: str, closed: bool) -> dict[str, Json]:
    """Return the schema in the subset of SPEC 3.5, as an own copy; equal for every supported pydantic minor version.

    `schema` is what pydantic wrote, or an author's JSON Schema literal. With `closed`, objects that do not say
    otherwise take no further keys; that is right for inputs. Rewritten, where it is exact: tagged `oneOf` to `anyOf`,
    `prefixItems` of equal entries to `items`, one-valued `enum` to `const`, an `allOf` of one. Everything outside the
    subset, recursion, more than 8 levels (a field of the root is level 2) or 16,384 bytes, and a `default` that breaks
    its own schema are a `DefinitionError` with the field's path and what to write instead: LIMIT_EXCEEDED for levels
    and bytes, UNSUPPORTED_SCHEMA for all else.
    """
    try:
        own, _ = take(dict(schema))
    except NotJson as refusal:
        raise _error(subject, "", f"the schema is not JSON: {refusal.reason}", None) from None
    return _Rewriter(subject, cast(Node, own), closed).run()


def _error(subject: str, path: str, found: str, write: str | None, code: DefinitionCode = _WRONG) -> DefinitionError:
    rule = f"{path}: {found}" if path else found
    do = None if write is None else f"write {write}"
    return DefinitionError(code, subject, rule, do=do)


class _Rewriter:
    """One walk over one schema. `path` is the author's view of a place: `filter.city`, `rows[].id`."""

    def __init__(self, subject: str, schema: Node, closed: bool) -> None:
        self._subject = subject
        self._closed = closed
        self._source = schema
        sources = schema.pop("$defs", {})
        if not isinstance(sources, dict):
            raise self._refuse("", "`$defs` must be an object", None)
        self._sources: dict[str, Json] = sources
        self._names: dict[str, str] = {}
        self._defs: dict[str, Node] = {}
        self._open: list[str] = []
        self._defaults: list[tuple[str, Node]] = []
        self._patterns: set[str] = set()
        self._heights: dict[str, int] = {}
        self._walking = 0

    def run(self) -> Node:
        dialect = self._source.pop("$schema", None)
        if dialect is not None and dialect not in DIALECTS:
            raise self._refuse("", "`$schema` names another dialect", "JSON Schema 2020-12")
        result = self._node(self._source, "")
        if self._defs:
            result["$defs"] = cast(Json, {name: self._defs[name] for name in self._names.values()})
        if self._height(result) > _LIMITS.depth:
            raise self._too_deep("")
        if len(canonical(result)) > _LIMITS.schema_bytes:
            raise self._too_much("", f"{_LIMITS.schema_bytes} bytes", "fewer fields, or shorter descriptions")
        try:
            compile_schema(result)
        except ValueError:
            raise self._refuse("", "not valid JSON Schema 2020-12", None) from None
        for path, node in self._defaults:
            self._check_default(path, node)
        return result

    def _refuse(self, path: str, found: str, write: str | None) -> DefinitionError:
        return _error(self._subject, path, found, write)

    def _too_deep(self, path: str) -> DefinitionError:
        return self._too_much(path, f"{_LIMITS.depth} levels of nesting", "a flatter type")

    def _too_much(self, path: str, most: str, write: str) -> DefinitionError:
        return _error(self._subject, path, f"more than {most}", write, DefinitionCode.LIMIT_EXCEEDED)

    # One node

    def _node(self, source: Json, path: str) -> Node:
        self._walking += 1
        try:
            if self._walking > _MAX_WALK:
                raise self._too_deep(path)
            return self._inner(source, path)
        finally:
            self._walking -= 1

    def _inner(self, source: Json, path: str) -> Node:
        if not isinstance(source, dict):
            raise self._refuse(path, "a schema must be an object", "`{}` for any JSON" if source is True else None)
        node = self._simplified(dict(source), path)
        if "$ref" in node:
            return self._reference(node, path)
        for keyword in node:
            if keyword not in KEYWORDS:
                raise self._refuse(path, f"`{keyword}` is outside the subset", KEYWORD_HINTS.get(keyword))
        result: Node = {}
        for step in (self._types, self._values, self._scalars, self._object, self._array, self._union):
            step(node, result, path)
        self._annotate(node, result, path)
        return result

    def _simplified(self, node: Node, path: str) -> Node:
        parts = node.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
            del node["allOf"]
            if set(parts[0]) & set(node) or not set(node) <= ANNOTATIONS:
                raise self._refuse(path, "`allOf` beside other keywords", KEYWORD_HINTS["allOf"])
            node.update(parts[0])
        if "oneOf" in node and "discriminator" in node and "anyOf" not in node:
            node["anyOf"] = self._tagged(node.pop("oneOf"), node.pop("discriminator"), path)
        entries = node.get("prefixItems")
        if isinstance(entries, list) and entries and "items" not in node:
            count = len(entries)
            alike = all(entry == entries[0] for entry in entries)
            if not alike or node.get("minItems") != count or node.get("maxItems") != count:
                raise self._refuse(path, "a tuple whose positions differ", KEYWORD_HINTS["prefixItems"])
            node["items"] = entries[0]
            del node["prefixItems"]
        return node

    def _tagged(self, branches: Json, discriminator: Json, path: str) -> Json:
        """`oneOf` equals `anyOf` exactly if every branch requires the tag and no two branches share a value of it."""
        tag = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
        if not isinstance(branches, list) or not isinstance(tag, str):
            raise self._refuse(path, "a discriminator without `propertyName`", KEYWORD_HINTS["oneOf"])
        seen: list[Json] = []
        for branch in branches:
            values = self._tag_values(branch, tag)
            if not values or any(value in seen for value in values):
                raise self._refuse(path, f"a union whose tag `{tag}` does not decide", KEYWORD_HINTS["oneOf"])
            seen.extend(values)
        return branches

    def _tag_values(self, branch: Json, tag: str) -> list[Json]:
        branch = self._followed(branch)
        if not isinstance(branch, dict):
            return []
        required, properties = branch.get("required"), branch.get("properties")
        if not isinstance(required, list) or tag not in required or not isinstance(properties, dict):
            return []
        field = self._followed(properties.get(tag))
        if not isinstance(field, dict):
            return []
        if "const" in field:
            return [field["const"]]
        values = field.get("enum")
        return values if isinstance(values, list) else []

    def _followed(self, node: Json) -> Json:
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            return self._sources.get(self._key(cast(str, node["$ref"]), ""))
        return node

    # References

    def _key(self, reference: str, path: str) -> str:
        found = _REF.fullmatch(reference)
        key = found.group(1).replace("~1", "/").replace("~0", "~") if found is not None else None
        if key is None or key not in self._sources:
            raise self._refuse(path, "a `$ref` that is not to `#/$defs/…` of this schema", "the definition itself")
        return key

    def _reference(self, node: Node, path: str) -> Node:
        reference = node.pop("$ref")
        for keyword in node:
            if keyword not in ANNOTATIONS:
                raise self._refuse(path, f"`{keyword}` beside `$ref`", "it in the definition")
        if not isinstance(reference, str):
            raise self._refuse(path, "a `$ref` that is no text", None)
        key = self._key(reference, path)
        if key in self._open:
            raise self._refuse(path, f"recursive type {_short(key)}", "a flat list with a parent id")
        if key not in self._names:
            self._names[key] = name = self._fresh(_short(key))
            self._open.append(key)
            definition = self._node(self._sources[key], path)
            self._open.pop()
            title = definition.get("title")
            if isinstance(title, str) and _plain(title) == _short(key):
                del definition["title"]
            self._defs[name] = definition
        result: Node = {"$ref": f"#/$defs/{self._names[key]}"}
        self._annotate(node, result, path)
        return result

    def _fresh(self, short: str) -> str:
        taken = set(self._names.values())
        name, number = short, 1
        while name in taken:
            number += 1
            name = f"{short}{number}"
        return name

    # Keywords

    def _types(self, node: Node, result: Node, path: str) -> None:
        if "type" not in node:
            return
        kinds = node["type"]
        named = kinds if isinstance(kinds, list) else [kinds]
        if not named or any(not isinstance(kind, str) or kind not in TYPES for kind in named):
            raise self._refuse(path, "`type` must be one of the seven JSON types, or a list of them", None)
        result["type"] = named[0] if len(named) == 1 else cast(Json, named)

    def _values(self, node: Node, result: Node, path: str) -> None:
        self._visible(("const", "enum"), node, path)
        if "const" in node:
            result["const"] = node["const"]
        elif "enum" in node:
            values = node["enum"]
            if not isinstance(values, list) or not values:
                raise self._refuse(path, "`enum` must be a list that is not empty", None)
            if len(values) == 1:
                result["const"] = values[0]
            else:
                result["enum"] = values

    def _scalars(self, node: Node, result: Node, path: str) -> None:
        for keyword in (*NUMBERS, *COUNTS):
            if keyword in node:
                value = node[keyword]
                whole = keyword in COUNTS
                if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                    raise self._refuse(path, f"`{keyword}` must be {'an integer' if whole else 'a number'}", None)
                result[keyword] = value
        if "pattern" in node:
            pattern = node["pattern"]
            self._visible(("pattern",), node, path)
            if not isinstance(pattern, str) or not self._linear(pattern):
                raise self._refuse(
                    path,
                    "a `pattern` that is no regular expression matched in linear time",
                    "a pattern without look-around and back-references",
                )
            result["pattern"] = pattern
        if "format" in node:
            name = node["format"]
            if not isinstance(name, str) or name not in FORMATS:
                hint = FORMAT_HINTS.get(name, "a str, with a pattern if need be") if isinstance(name, str) else None
                raise self._refuse(path, f"format {name!r} is outside the subset", hint)
            result["format"] = name

    def _linear(self, pattern: str) -> bool:
        if pattern not in self._patterns and pattern_is_linear(pattern):
            self._patterns.add(pattern)
        return pattern in self._patterns

    def _object(self, node: Node, result: Node, path: str) -> None:
        if "properties" in node:
            properties = node["properties"]
            if not isinstance(properties, dict):
                raise self._refuse(path, "`properties` must be an object", None)
            result["properties"] = {name: self._property(name, child, path) for name, child in properties.items()}
        required = node.get("required", [])
        if not isinstance(required, list) or any(not isinstance(name, str) for name in required):
            raise self._refuse(path, "`required` must be a list of names", None)
        names = sorted(set(cast("list[str]", required)))
        if names:
            # Sorted: the order of fields in a class says nothing about what is valid.
            result["required"] = cast(Json, names)
        further = self._further(node, path)
        known = cast("dict[str, Json]", node.get("properties", {}))
        if further is False and (absent := [name for name in names if name not in known]):
            raise self._refuse(path, f"`required` names `{absent[0]}`, and no such key may stand here", "its schema")
        if further is not None:
            result["additionalProperties"] = further

    def _further(self, node: Node, path: str) -> bool | None:
        further = node.get("additionalProperties")
        if isinstance(further, dict):
            if further:
                raise self._refuse(path, "a mapping with free keys", "a list of models with a key field")
            further = True
        if further is not None and not isinstance(further, bool):
            raise self._refuse(path, "`additionalProperties` must be a boolean", None)
        return False if further is None and self._closed and _is_object(node) else further

    def _property(self, name: str, child: Json, path: str) -> Node:
        if not name or first_bad(name) is not None:
            raise self._refuse(path, "a property name that is empty or holds a refused character", "a plain name")
        return self._node(child, f"{path}.{name}" if path else name)

    def _array(self, node: Node, result: Node, path: str) -> None:
        if "items" in node:
            result["items"] = self._node(node["items"], f"{path}[]")

    def _union(self, node: Node, result: Node, path: str) -> None:
        if "anyOf" in node:
            branches = node["anyOf"]
            if not isinstance(branches, list) or not branches:
                raise self._refuse(path, "`anyOf` must be a list that is not empty", None)
            result["anyOf"] = [self._node(branch, path) for branch in branches]

    def _annotate(self, node: Node, result: Node, path: str) -> None:
        self._visible(("default", "examples"), node, path)
        for keyword in TEXTS:
            if keyword in node:
                self._text(keyword, node[keyword], result, path)
        for keyword in FLAGS:
            if keyword in node:
                if not isinstance(node[keyword], bool):
                    raise self._refuse(path, f"`{keyword}` must be a boolean", None)
                if node[keyword]:
                    result[keyword] = True
        if "examples" in node:
            if not isinstance(node["examples"], list):
                raise self._refuse(path, "`examples` must be a list", None)
            result["examples"] = node["examples"]
        if "default" in node:
            result["default"] = node["default"]
            self._defaults.append((path, result))

    def _visible(self, keywords: tuple[str, ...], node: Node, path: str) -> None:
        """Refuse what a reviewer cannot see in a value that agents are shown (SPEC 3.2)."""
        for keyword in keywords:
            if (bad := first_bad_inside(node.get(keyword))) is not None:
                raise self._refuse(path, f"`{keyword}` holds the refused character {bad}", "plain text")

    def _text(self, keyword: str, text: Json, result: Node, path: str) -> None:
        if not isinstance(text, str):
            raise self._refuse(path, f"`{keyword}` must be text", None)
        line = " ".join(text.split())
        bad = first_bad(line)
        if bad is not None:
            raise self._refuse(path, f"`{keyword}` holds the refused character {bad}", "plain text")
        if line:
            result[keyword] = line

    # The whole

    def _check_default(self, path: str, node: Node) -> None:
        judged: Node = {**node, "$defs": cast(Json, self._defs)}
        if not compile_schema(judged).is_valid(node["default"]):
            raise self._refuse(path, "the default breaks the field's own schema", "a default that is valid")

    def _height(self, node: Node) -> int:
        """Levels from a node down; the way through `$ref` counts, so that sharing hides no depth."""
        heights = [1]
        reference = node.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix("#/$defs/")
            if name not in self._heights:
                self._heights[name] = self._height(self._defs[name])
            heights.append(self._heights[name])
        properties = cast("dict[str, Node]", node.get("properties", {}))
        heights += [1 + self._height(child) for child in properties.values()]
        if "items" in node:
            heights.append(1 + self._height(cast(Node, node["items"])))
        heights += [self._height(branch) for branch in cast("list[Node]", node.get("anyOf", []))]
        return max(heights)


def _is_object(node: Node) -> bool:
    kinds = node.get("type")
    named: list[Json] = kinds if isinstance(kinds, list) else [kinds]
    return "properties" in node or "object" in named


def _short(key: str) -> str:
    """The class's own name from pydantic's key, which may carry module, mode and a running number."""
    plain = re.sub(r"-(Input|Output)(?=__|$)", "", key)
    parts = [part for part in plain.split("__") if part and not part.isdigit()]
    return _plain(parts[-1] if parts else plain) or "Type"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
