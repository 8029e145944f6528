"""A page as its HTML has it: forms and their controls, with the words beside them. Nothing is judged here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

Attributes = Mapping[str, str]

_INERT: Final = frozenset({"template", "noscript"})
_READ: Final = frozenset({"label", "legend", "option", "button", "textarea"})


@dataclass(slots=True, kw_only=True, eq=False)
class Option:
    """One choice of a select; without a `value=` its words are sent."""

    attributes: Attributes
    words: list[str] = field(default_factory=list)

    @property
    def value(self) -> str:
        """What is sent."""
        return self.attributes.get("value", joined(self.words))


@dataclass(slots=True, kw_only=True, eq=False)
class Control:
    """An input, select, textarea or button; `words` are those of its label, of a button its own."""

    tag: str
    attributes: Attributes
    words: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Under which name it is sent; empty for what is not."""
        return self.attributes.get("name", "").strip()

    @property
    def type(self) -> str:
        """`text`, `select`, `submit` and so on."""
        if self.tag == "select":
            return "select-multiple" if "multiple" in self.attributes else "select"
        usual = {"input": "text", "button": "submit"}.get(self.tag, self.tag)
        return self.attributes.get("type", "").strip().lower() or usual if self.tag != "textarea" else "textarea"


@dataclass(slots=True, kw_only=True, eq=False)
class Form:
    """One form; `line` is where it begins, `legend` the words of its first one."""

    attributes: Attributes
    line: int
    legend: list[str] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """The forms of a page in their order, and the address against which it says its own are to be read."""

    forms: tuple[Form, ...]
    base: str | None


def joined(words: list[str]) -> str:
    """The words of a place as one line."""
    return " ".join("".join(words).split())


def read_page(html: str) -> Page:
    """Read the forms of a page; HTML that is broken is read as far as it goes, as a browser does."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page()


class _Reader(HTMLParser):
    """Follows the tags that matter. What is disabled, or inert in a template, is not sent and not read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._forms: list[Form] = []
        self._form: Form | None = None
        self._loose: list[tuple[str, Control]] = []
        self._labels: dict[str, list[str]] = {}
        self._by_id: dict[str, Control] = {}
        self._select: Control | None = None
        self._label: list[str] | None = None
        self._wrapped: list[tuple[Control, list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self._inert = 0
        self._fieldsets: list[bool] = []
        self._base: str | None = None
        self._begins: Mapping[str, Callable[[Attributes], None]] = {
            "form": self._begin_form,
            "base": self._begin_base,
            "label": self._begin_label,
            "legend": self._begin_legend,
            "fieldset": lambda attributes: self._fieldsets.append("disabled" in attributes),
            "select": self._begin_select,
            "option": self._begin_option,
            "input": lambda attributes: self._control("input", attributes),
            "button": lambda attributes: self._control("button", attributes),
            "textarea": lambda attributes: self._control("textarea", attributes),
        }

    def page(self) -> Page:
        """What was read; controls that name their form by its id go there."""
        named = {form.attributes["id"]: form for form in self._forms if "id" in form.attributes}
        for owner, control in self._loose:
            if owner in named:
                named[owner].controls.append(control)
        for id, control in self._by_id.items():
            if id in self._labels:
                control.words = control.words or self._labels[id]
        for control, words in self._wrapped:
            control.words = control.words or words
        return Page(forms=tuple(self._forms), base=self._base)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag begins."""
        if tag in _INERT:
            self._inert += 1
        begin = self._begins.get(tag)
        if begin is None or self._inert:
            return
        attributes: dict[str, str] = {}
        for name, value in attrs:  # of several of one name, the first counts
            attributes.setdefault(name, value or "")
        begin(attributes)

    def handle_endtag(self, tag: str) -> None:
        """A tag ends; what was left open inside of it ends, too."""
        if tag in _INERT:
            self._inert = max(0, self._inert - 1)
        if self._inert:
            return
        if tag == "form":
            self._form = None
        elif tag == "fieldset" and self._fieldsets:
            self._fieldsets.pop()
        elif tag == "label":
            self._label = None
        elif tag == "select":
            self._select = None
            self._stop("option")
        if tag in _READ:
            self._stop(tag)

    def handle_data(self, data: str) -> None:
        """Words, for every place that is open."""
        if self._inert:
            return
        for tag, words in self._open:
            # What stands in a button or a list of choices inside a label is no word of the label.
            if tag != "label" or self._open[-1][0] == "label":
                words.append(data)

    def _read(self, tag: str, words: list[str]) -> None:
        self._stop(tag)
        self._open.append((tag, words))

    def _stop(self, tag: str) -> None:
        self._open = [each for each in self._open if each[0] != tag]

    def _begin_form(self, attributes: Attributes) -> None:
        if self._form is None:  # a form inside a form is none
            self._form = Form(attributes=attributes, line=self.getpos()[0])
            self._forms.append(self._form)

    def _begin_base(self, attributes: Attributes) -> None:
        if self._base is None and "href" in attributes:
            self._base = attributes["href"]

    def _begin_label(self, attributes: Attributes) -> None:
        self._label = []
        if "for" in attributes:
            self._labels.setdefault(attributes["for"], self._label)
        self._read("label", self._label)

    def _begin_legend(self, attributes: Attributes) -> None:
        if self._form is not None and not self._form.legend:
            self._read("legend", self._form.legend)

    def _begin_select(self, attributes: Attributes) -> None:
        self._control("select", attributes)

    def _begin_option(self, attributes: Attributes) -> None:
        if self._select is None:
            return
        option = Option(attributes=attributes)
        self._select.options.append(option)
        self._read("option", option.words)

    def _control(self, tag: str, attributes: Attributes) -> None:
        control = Control(tag=tag, attributes=attributes)
        if tag == "select":
            self._select = control
        if "disabled" in attributes or any(self._fieldsets):
            return
        if tag == "button":
            self._read("button", control.words)
        elif tag == "textarea":
            self._read("textarea", [])
        if "id" in attributes:
            self._by_id.setdefault(attributes["id"], control)
        if self._label is not None and tag != "button":
            self._wrapped.append((control, self._label))
        owner = attributes.get("form")
        if owner is not None:
            self._loose.append((owner, control))
        elif self._form is not None:
            self._form.controls.append(control)
