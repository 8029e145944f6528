"""What may never be a property of a capability, by its name (SPEC 11.10); `spec/denied-names.toml` has the reasons."""

from collections.abc import Iterator, Mapping
from typing import Final, cast

from remit._base.boundary import Json
from remit._contract.options import LIMITS, Options, Place, checked_text

EXACT: Final = frozenset(
    (
        "auth authorization bearer code cookie cookies css dom eval exec html innerhtml javascript js jwt "
        "outerhtml passcode rawhtml script scripts skipapproval skipconfirmation storagestate storestate token "
    ).split()
)
"""Denied as the whole of a name."""

SUFFIXES: Final = tuple(
    (
        "accesstoken apikey apitoken authtoken bearertoken bypass credential credentials csrftoken cssselector "
        "delegationtoken domnode idtoken javascript jwt localstorage modelkey passphrase passwd password "
        "privatekey refreshtoken secret secretkey secrets selector selectors sessioncookie sessionid "
        "sessionstorage sessiontoken setcookie sourcecode xpath xsrftoken "
    ).split()
)
"""Denied as the end of a name, or the whole."""


def is_denied(name: str) -> bool:
    """Whether a property of this name is refused: lower-cased, without `_` and `-`, it is one or ends as one."""
    plain = name.lower().replace("_", "").replace("-", "")
    return plain in EXACT or plain.endswith(SUFFIXES)


def checked_allowed(at: Place, value: object) -> dict[str, str]:
    """Return the names that a declaration allows all the same, each with its reason."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise at.wrong(
            f"allow_names= is a dict of names and reasons, not {type(value).__name__}",
            do='write allow_names={"code": "the voucher\'s code, printed on it"}',
        )
    allowed = {}
    for name, reason in value.items():
        allowed[checked_text(at, "allow_names", name, LIMITS.title)] = checked_text(
            at, "the reason in allow_names", reason, LIMITS.title
        )
    return allowed


def allowed_block(at: Place, options: Options, *schemas: Json) -> dict[str, Json]:
    """The part of a row that says which denied names stand in its schemas, and why; a row without has no such part.

    Refused: a denied name anywhere in a schema that is not allowed, and an allowed one that nothing needs.
    """
    allowed = checked_allowed(at, options.allow_names)
    denied = {name for schema in schemas for name in denied_in(schema)}
    for name in sorted(denied - allowed.keys()):
        raise at.wrong(
            f"has a property {name!r}: what is called so never reaches an agent",
            do=f'rename it, leave it out, or say why it is harmless: allow_names={{"{name}": "…"}}',
        )
    for name in sorted(allowed.keys() - denied):
        raise at.wrong(f"allow_names= names {name!r}, which no schema needs allowed", do="remove it")
    return {"allow_names": cast(Json, dict(sorted(allowed.items())))} if allowed else {}


def denied_in(schema: Json) -> frozenset[str]:
    """The denied names of properties anywhere in a schema."""
    return frozenset(name for name in _properties(schema) if is_denied(name))


def _properties(schema: Json) -> Iterator[str]:
    """Every property name, wherever it stands: a schema's own keywords that hold schemas are walked, values are not."""
    match schema:
        case dict():
            for keyword, value in schema.items():
                match keyword, value:
                    case (("properties" | "$defs"), dict()):
                        yield from value if keyword == "properties" else ()
                        for each in value.values():
                            yield from _properties(each)
                    case (("enum" | "const" | "default" | "examples" | "required"), _):
                        pass
                    case _:
                        yield from _properties(value)
        case list():
            for each in schema:
                yield from _properties(each)
        case _:
            pass
