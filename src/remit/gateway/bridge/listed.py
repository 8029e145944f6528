"""Which components a page may bind, by the path at which it stands (SPEC 11.17)."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Final

from starlette.routing import compile_path

from remit._contract.component import Component, declaration_of

ROUTE_CHARACTERS: Final = 1_024

Types = Mapping[str, type[Component]]


class Listed:
    """The component classes of `attach(pages={"/orders/{id}": [OrderPanel]})`, looked up by path.

    A pattern is one of Starlette's routes. Refused when the application starts: what is no component class, and one
    that is not declared `page=True`.
    """

    def __init__(self, pages: Mapping[str, Iterable[type[Component]]]) -> None:
        if not isinstance(pages, Mapping):
            raise TypeError('pages= is a mapping: pages={"/orders/{id}": [OrderPanel]}')
        self._rows = [(compile_path(_path(path))[0], _by_type(path, classes)) for path, classes in pages.items()]

    def of(self, route: str) -> Types:
        """What a page at this path may bind, by component type."""
        found: dict[str, type[Component]] = {}
        for pattern, types in self._rows:
            if pattern.match(route):
                found.update(types)
        return found


def _check_made(cls: type[Component], path: str) -> None:
    """One is made for each page that binds it, so that it takes nothing."""
    try:
        inspect.signature(cls).bind()
    except TypeError as problem:
        raise TypeError(f"{cls.__name__} is listed for pages at {path} and made without arguments: {problem}") from None


def is_route(value: object) -> bool:
    """True for a path as a page names its own."""
    fits = isinstance(value, str) and value.startswith("/") and len(value) <= ROUTE_CHARACTERS
    return fits and isinstance(value, str) and value.isprintable()


def _path(path: object) -> str:
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"pages={{{path!r}: …}} names the path of a page, such as '/orders/{{id}}'")
    return path


def _by_type(path: str, classes: Iterable[type[Component]]) -> Types:
    if isinstance(classes, type):
        raise TypeError(f"pages={{{path!r}: …}} takes a list of classes: write [{classes.__name__}]")
    found: dict[str, type[Component]] = {}
    for each in classes:
        declared = declaration_of(each)
        if declared is None:
            raise TypeError(f"pages={{{path!r}: …}} takes component classes with a type, not {each!r:.80}")
        if not declared.page:
            name = declared.name
            raise ValueError(
                f"{name} is listed for pages at {path} and not declared page=True\n"
                f'  do  class {name}(Component, type="{declared.type}", page=True), then compile'
            )
        _check_made(each, path)
        found[declared.type] = each
    return found
