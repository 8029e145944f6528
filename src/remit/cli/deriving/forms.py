"""From the forms of a page to operations: what is sent where, and which forms are rows of one (SPEC 11.9)."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from remit._base.boundary import Json
from remit._base.text import clean_line
from remit.cli.deriving.fields import Fields, fields_of
from remit.cli.deriving.page import Form, Page, joined
from remit.cli.deriving.skipping import Skipped, why_skipped
from remit.cli.naming import free

NOWHERE: Final = "http://page.invalid"
"""The origin of a page that was read from a file and has no address."""

_HTMX: Final = ("get", "post", "put", "patch", "delete")
_ID: Final = re.compile(r"(?=.*[0-9])(?!v[0-9]+$).+")
_TITLE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One thing that a page sends: how, where, with what, and in whose words.

    `path` are segments; a `{name}` stands for the segment in which the rows of the page differ.
    """

    method: str
    path: tuple[str, ...]
    title: str
    fields: Fields
    forms: int = 1

    @property
    def request(self) -> str:
        """`POST /orders/{order}/notes`."""
        return f"{self.method} /{'/'.join(self.path)}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the segments that differ."""
        return tuple(each[1:-1] for each in self.path if each.startswith("{"))

    @property
    def schema(self) -> dict[str, Json]:
        """The input of the operation: the segments that differ, and the fields of the form."""
        rows: dict[str, Json] = {name: {"type": "string", "minLength": 1} for name in self.parameters}
        required: list[Json] = [*self.parameters, *self.fields.required]
        form: dict[str, Json] = {"type": "object", "properties": {**rows, **self.fields.properties}}
        return {**form, "required": required} if required else form


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the forms of a page: what is sent, and what was left out, each with its reason."""

    sent: tuple[Sent, ...]
    left_out: tuple[Skipped, ...]


def forms_of(page: Page, address: str) -> Found:
    """Judge each form of a page; forms that send the same to the same place but for a row's id are one."""
    base = urljoin(address, page.base) if page.base else address
    sent: dict[tuple[object, ...], Sent] = {}
    left_out: list[Skipped] = []
    for form in page.forms:
        method, target = _aim(form, base, address)
        where = f"{method} {urlsplit(target).path or '/'}"
        fields = fields_of(form.controls)
        why = _why_not(form, method, target, address) or fields.refused
        if why is not None:
            left_out.append(Skipped(where, why))
            continue
        one = Sent(method=method, path=_path(target, fields.properties), title=_title(form), fields=fields)
        key = (one.method, one.path, one.title, tuple(fields.properties), fields.required)
        known = sent.get(key)
        sent[key] = one if known is None else _more(known)
    return Found(sent=tuple(sent.values()), left_out=tuple(dict.fromkeys(left_out)))


def _more(one: Sent) -> Sent:
    return Sent(method=one.method, path=one.path, title=one.title, fields=one.fields, forms=one.forms + 1)


def _aim(form: Form, base: str, address: str) -> tuple[str, str]:
    """The method and the whole address; what HTMX says of a form goes before what HTML says."""
    attributes = form.attributes
    for method in _HTMX:
        target = attributes.get(f"hx-{method}", attributes.get(f"data-hx-{method}"))
        if target is not None:
            return method.upper(), urljoin(base, target) if target else address
    action = attributes.get("action", "").strip()
    return attributes.get("method", "get").strip().upper() or "GET", urljoin(base, action) if action else address


def _why_not(form: Form, method: str, target: str, address: str) -> str | None:
    if method not in {each.upper() for each in _HTMX}:
        return "it sends nothing" if method == "DIALOG" else "its method is none that a browser sends"
    there, here = urlsplit(target), urlsplit(address)
    if there.scheme not in {"http", "https"}:
        return "it goes to no address of the web"
    if (there.scheme, there.netloc) != (here.scheme, here.netloc):
        return "it goes to another origin"
    if any("formaction" in each.attributes or "formmethod" in each.attributes for each in form.controls):
        return "a button of it sends it elsewhere"
    return None


def _path(target: str, taken: Collection[str]) -> tuple[str, ...]:
    """The segments of the path; one that is a row's id becomes a name after the word before it."""
    path: list[str] = []
    names = set(taken)
    for segment in [each for each in urlsplit(target).path.split("/") if each]:
        if not _ID.fullmatch(segment):
            path.append(segment)
            continue
        before = next((each for each in reversed(path) if not each.startswith("{")), "")
        word = _singular(before)
        name = free("id" if why_skipped(word) else word, names, "_")
        names.add(name)
        path.append(f"{{{name}}}")
    return tuple(path)


def _singular(word: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")
    if not plain or not plain[0].isalpha():
        return "id"
    if plain.endswith("ies"):
        return plain[:-3] + "y"
    return plain[:-1] if plain.endswith("s") and not plain.endswith("ss") else plain


def _title(form: Form) -> str:
    """The words of the form itself, else of its one button."""
    return next((line for line in _titles(form) if line), "")


def _titles(form: Form) -> Iterator[str]:
    yield clean_line(form.attributes.get("aria-label", ""), _TITLE)
    yield clean_line(joined(form.legend), _TITLE)
    buttons = [each for each in form.controls if each.type in {"submit", "image"}]
    if len(buttons) == 1:
        yield clean_line(joined(buttons[0].words) if buttons[0].tag == "button" else "", _TITLE)
        yield clean_line(buttons[0].attributes.get("value", ""), _TITLE)
    yield clean_line(form.attributes.get("title", ""), _TITLE)


def names_of(sent: Sequence[Sent]) -> list[str]:
    """A name of an operation for each, after its path."""
    names: list[str] = []
    for each in sent:
        words = [re.sub(r"[^A-Za-z0-9-]+", "-", word).strip("-") for word in each.path if not word.startswith("{")]
        plain = ".".join(word for word in words if word) or "page"
        wanted = plain if plain not in names else f"{plain}.{each.method.lower()}"
        names.append(free(wanted, names, "-"))
    return names
