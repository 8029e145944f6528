"""The static pass: every component a project declares, or a finding for what cannot be read (SPEC 13.2)."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from remit._model.effects import Kind
from remit.compiler.declared import DeclaredCapability, DeclaredComponent, normal_option
from remit.compiler.graph import External, Graph, Local
from remit.compiler.literals import NotLiteral, literal
from remit.compiler.members import (
    FORMATTED,
    PLAIN_TEXT,
    Members,
    api_name,
    docstring,
    has_formatted_docstring,
)
from remit.compiler.source import Scope, Source
from remit.compiler.stepping import step_findings
from remit.errors import Finding

_DATACLASS: Final = "dataclasses.dataclass"
_CLASS_KEYWORDS: Final = frozenset({"type", "title", "description", "tags", "doors", "headless", "page"})
_ClassKey = tuple[str, int]


@dataclass(slots=True, kw_only=True, eq=False)
class Extraction:
    """What the static pass found; `homes` are the modules that declare, or import something of remit."""

    components: list[DeclaredComponent] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    homes: list[Source] = field(default_factory=list)


def extract(graph: Graph) -> Extraction:
    """Read every component of a graph. Findings stand in source order; with any of them the set is not complete."""
    return _Extractor(graph).run()


class _Extractor:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._members: dict[_ClassKey, Members] = {}
        self._component: dict[_ClassKey, bool] = {}
        self._out = Extraction()

    def run(self) -> Extraction:
        for source in self._graph.modules.values():
            before = len(self._out.components)
            for node, place in _classes(source.tree):
                self._class(source, node, place)
            self._patches(source)
            if len(self._out.components) > before or _mentions_remit(source):
                self._out.homes.append(source)
        order = {source.path: index for index, source in enumerate(self._graph.modules.values())}
        self._out.findings = sorted(
            {*self._graph.findings, *self._out.findings},
            key=lambda each: (order.get(each.path or "", -1), each.line or 0, each.found),
        )
        return self._out

    # Classes

    def _class(self, source: Source, node: ast.ClassDef, place: str | None) -> None:
        if not self._is_component(source, node):
            members = self._read(source, node)
            if members.capabilities and place is None:
                self._out.findings += members.findings
            return
        if place is not None:
            self._refuse(source, node, f"the component {node.name} is declared in {place}", "it at module level")
            return
        self._check_decorators(source, node)
        self._out.findings += self._read(source, node).findings
        self._declare(source, node)

    def _refuse(self, source: Source, node: ast.AST, found: str, write: str | None = None) -> None:
        self._out.findings.append(source.finding(node, found, write))

    def _is_component(self, source: Source, node: ast.ClassDef) -> bool:
        key = (source.name, node.lineno)
        if key not in self._component:
            self._component[key] = False  # a class is no base of itself
            self._component[key] = any(
                api_name(base) == "component"
                or (
                    isinstance(base, Local)
                    and isinstance(base.node, ast.ClassDef)
                    and self._is_component(base.scope.source, base.node)
                )
                for base in self._bases(source, node)
            )
        return self._component[key]

    def _bases(self, source: Source, node: ast.ClassDef) -> list[External | Local]:
        found: list[External | Local] = []
        for base in node.bases:
            resolved = self._graph.resolve(source.scopes[node], base.value if isinstance(base, ast.Subscript) else base)
            if isinstance(resolved, External | Local):
                found.append(resolved)
        return found

    def _read(self, source: Source, node: ast.ClassDef) -> Members:
        key = (source.name, node.lineno)
        if key not in self._members:
            self._members[key] = Members(graph=self._graph, source=source, owner=node).read()
        return self._members[key]

    def _check_decorators(self, source: Source, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            resolved = self._graph.resolve(source.scopes[node], target)
            plain = isinstance(resolved, External) and resolved.name == _DATACLASS
            if plain and isinstance(decorator, ast.Call):
                plain = not decorator.args and all(
                    self._is_literal(source.scopes[node], each) for each in decorator.keywords
                )
            if not plain:
                self._refuse(
                    source,
                    decorator,
                    f"the class decorator `@{ast.unparse(decorator)[:60]}` on the component {node.name}",
                    "no decorator, or `@dataclass` with literals",
                )

    def _is_literal(self, scope: Scope, keyword: ast.keyword) -> bool:
        try:
            literal(self._graph, scope, keyword.value)
        except NotLiteral:
            return False
        return keyword.arg is not None

    def _declare(self, source: Source, node: ast.ClassDef) -> None:
        written: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg == "metaclass":
                self._refuse(source, node, f"the component {node.name} has a metaclass", "no metaclass=")
                return
            if keyword.arg is None:
                self._refuse(source, node, "`**` hides the keywords of a declaration", "each keyword by name")
                return
            if keyword.arg not in _CLASS_KEYWORDS:
                continue  # policies are objects; others belong to an `__init_subclass__` of the project
            try:
                written[keyword.arg] = literal(self._graph, source.scopes[node], keyword.value)
            except NotLiteral as problem:
                self._refuse(
                    source, keyword.value, f"{keyword.arg}= is {problem.found}", f"{keyword.arg}= with a literal"
                )
                return
        type_name = written.get("type")
        if type_name is None:
            return  # abstract: its capabilities count where it is inherited
        description = written.get("description")
        if description is None and has_formatted_docstring(node):
            self._refuse(source, node.body[0], f"the docstring of {node.name} {FORMATTED}", PLAIN_TEXT)
            return
        capabilities = self._inherited(source, node, str(type_name))
        self._check_ids(source, node, str(type_name), capabilities)
        self._out.findings += step_findings(str(type_name), capabilities)
        if written.get("headless") and source.name not in self._graph.foreign:
            self._check_headless(str(type_name), capabilities)
        self._out.components.append(
            DeclaredComponent(
                path=source.path,
                name=node.name,
                type=str(type_name),
                description=docstring(node) if description is None else str(description),
                options={
                    "title": written.get("title"),
                    "tags": normal_option("tags", written.get("tags", [])),
                    "doors": normal_option("doors", written.get("doors")),
                    "headless": bool(written.get("headless", False)),
                    "page": bool(written.get("page", False)),
                },
                capabilities=capabilities,
                line=node.lineno,
            )
        )

    def _check_ids(
        self, source: Source, node: ast.ClassDef, type_name: str, capabilities: Mapping[str, DeclaredCapability]
    ) -> None:
        """One type is one class, and one id one capability; of a second one the finding names both places."""
        first = next((each for each in self._out.components if each.type == type_name), None)
        if first is not None:
            found = f"the type {type_name} is declared here and at {first.path}:{first.line}"
            self._refuse(source, node, found, "another type= for one of the two")
        places: dict[str, DeclaredCapability] = {}
        for each in capabilities.values():
            other = places.setdefault(each.name, each)
            if other is not each:
                found = f"{each.name} is declared here and at {other.path}:{other.line}"
                finding = Finding(path=each.path, line=each.line, found=found, write="another name for one of the two")
                self._out.findings.append(finding)

    def _check_headless(self, type_name: str, capabilities: Mapping[str, DeclaredCapability]) -> None:
        """Whether a distribution may hold more without a view is judged with its approval."""
        for each in capabilities.values():
            if each.kind != Kind.REFERENCE.value:
                found = f"{each.name} is an {each.kind}, and {type_name} is headless: it holds references"
                write = "it in a component of a view, or an operation that the backend lists"
                self._out.findings.append(Finding(path=each.path, line=each.line, found=found, write=write))

    def _inherited(self, source: Source, node: ast.ClassDef, type_name: str) -> dict[str, DeclaredCapability]:
        """What the class and its bases of this project declare, the nearer one first to count."""
        found: dict[str, DeclaredCapability] = {}
        for home, base in reversed(self._linear(source, node)):
            found.update(self._read(home, base).capabilities)
        return {
            attribute: each if each.kind == "reference" else replace(each, name=f"view:{type_name}.{each.name}")
            for attribute, each in found.items()
        }

    def _linear(self, source: Source, node: ast.ClassDef) -> list[tuple[Source, ast.ClassDef]]:
        """The class and its bases of this project, in the order Python looks them up."""
        lines = [
            self._linear(base.scope.source, base.node)
            for base in self._bases(source, node)
            if isinstance(base, Local) and isinstance(base.node, ast.ClassDef) and base.node is not node
        ]
        heads = [[line[0] for line in lines]] if lines else []
        merged: list[tuple[Source, ast.ClassDef]] = [(source, node)]
        queues = [list(line) for line in (*lines, *heads)]
        while queues := [queue for queue in queues if queue]:
            head = next(
                (queue[0] for queue in queues if not any(queue[0] in other[1:] for other in queues)), queues[0][0]
            )
            merged.append(head)
            queues = [[each for each in queue if each is not head and each != head] for queue in queues]
        return merged

    # What would change a class after it was declared

    def _patches(self, source: Source) -> None:
        for node, scope in source.nodes:
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
                for target in _targets(node):
                    if isinstance(target, ast.Attribute) and self._names_component(scope, target.value):
                        self._refuse(
                            source,
                            node,
                            f"`{ast.unparse(target)[:60]}` is changed after its class was declared",
                            "it in the class body",
                        )
            elif isinstance(node, ast.Call):
                self._patching_call(scope, node)

    def _patching_call(self, scope: Scope, node: ast.Call) -> None:
        called = self._graph.resolve(scope, node.func)
        if not isinstance(called, External):
            return
        if called.name in {"builtins.setattr", "builtins.delattr"} and node.args:
            if self._names_component(scope, node.args[0]):
                changed = f"`{ast.unparse(node)[:60]}` changes a component"
                self._refuse(scope.source, node, changed, "it in the class body")
        elif called.name == "builtins.type" and len(node.args) >= 2 and self._mentions_component(scope, node.args[1]):
            self._refuse(scope.source, node, "`type(…)` makes a component", "a `class` statement at module level")

    def _names_component(self, scope: Scope, expression: ast.expr) -> bool:
        resolved = self._graph.resolve(scope, expression)
        return (
            isinstance(resolved, Local)
            and isinstance(resolved.node, ast.ClassDef)
            and self._is_component(resolved.scope.source, resolved.node)
        )

    def _mentions_component(self, scope: Scope, bases: ast.expr) -> bool:
        return any(
            api_name(self._graph.resolve(scope, node)) == "component" or self._names_component(scope, node)
            for node in ast.walk(bases)
            if isinstance(node, ast.Name | ast.Attribute)
        )


def _targets(node: "ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete") -> list[ast.expr]:
    return list(node.targets) if isinstance(node, ast.Assign | ast.Delete) else [node.target]


def _classes(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, str | None]]:
    """Every class statement, with what it stands in when that is not the module itself."""
    pending: list[tuple[ast.AST, str | None]] = [(node, None) for node in reversed(tree.body)]
    while pending:
        node, place = pending.pop()
        inside = place
        if isinstance(node, ast.ClassDef):
            yield node, place
            inside = place or "a class"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = place or "a function"
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.Match):
            inside = place or "a branch"
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            inside = place or "a loop"
        # Classes are statements; nothing below an expression holds one.
        children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        pending.extend((child, inside) for child in reversed(children))


def _mentions_remit(source: Source) -> bool:
    return any(name.split(".")[0] == "remit" for name in source.imports)
