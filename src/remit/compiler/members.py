"""The capabilities of one class body, read from its source (SPEC 13.2)."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from remit._base.text import first_paragraph
from remit._contract.concurrency import checked_concurrency
from remit._contract.flow import checked_steps
from remit._contract.handing import checked_handoff
from remit._contract.options import Place, checked_fidelity, checked_source
from remit._contract.retrying import checked_retry
from remit._contract.schemas import checked_input, checked_output
from remit._model.effects import Effect, Kind
from remit._model.ids import capability_name
from remit.compiler.declared import LITERAL_OPTIONS, DeclaredCapability, normal_option
from remit.compiler.graph import External, Graph, Local, Resolved
from remit.compiler.literals import NotLiteral, Plain, literal
from remit.compiler.source import Scope, Source, is_type_checking
from remit.errors import DefinitionError, Finding

API: Final = {
    "remit.Component": "component",
    "remit._contract.component.Component": "component",
    "remit.observation": "observation",
    "remit._contract.decorators.observation": "observation",
    "remit.action": "action",
    "remit._contract.decorators.action": "action",
    "remit.flow": "flow",
    "remit._contract.flow.flow": "flow",
    "remit.reference": "reference",
    "remit._contract.reference.reference": "reference",
}
_ATTACHMENTS: Final = frozenset({"available", "precondition", "note", "summary", "redact", "records"})
_DECORATORS: Final = frozenset({"observation", "action", "flow"})
_COMPOUND: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)
FORMATTED: Final = "is an f-string, which Python does not keep"
PLAIN_TEXT: Final = "a plain string"
_BODY: Final = "declare every capability directly in the class body"
_OPTION_DEFAULTS: Final[dict[str, Plain]] = {
    "deprecated": False,
    "tags": [],
    "may_vary": [],
    "sensitive": [],
    "overridable": [],
    "blocking": False,
    "untrusted": False,
    "source": "declared",
}
_CHECKED: Final[dict[str, Callable[[Place, object], object]]] = {
    "concurrency": checked_concurrency,
    "retry": checked_retry,
    "handoff": checked_handoff,
    "steps": checked_steps,
    "input": checked_input,
    "output": checked_output,
    "source": checked_source,
    "fidelity": checked_fidelity,
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def api_name(resolved: Resolved) -> str | None:
    """`component`, `observation`, `action`, `flow` or `reference`, when it is remit's own."""
    return API.get(resolved.name) if isinstance(resolved, External) else None


@dataclass(slots=True, kw_only=True, eq=False)
class Members:
    """What one class body declares; `read` fills it. Capabilities have local names until a component gives its type."""

    graph: Graph
    source: Source
    owner: ast.ClassDef
    capabilities: dict[str, DeclaredCapability] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def read(self) -> "Members":
        """Read the body, in source order."""
        for statement in self.owner.body:
            self._statement(statement)
        return self

    @property
    def scope(self) -> Scope:
        """Where names of the class body are looked up: what the body itself binds comes first."""
        return self.source.bodies[self.owner]

    @property
    def declares(self) -> bool:
        """True when the body declares a capability, or something that looks like one."""
        return bool(self.capabilities or self.findings)

    def _refuse(self, node: ast.AST, found: str, write: str | None = None) -> None:
        self.findings.append(self.source.finding(node, found, write))

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._function(statement)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value, statement, several=len(statement.targets) > 1)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value, statement, several=False)
        elif isinstance(statement, _COMPOUND):
            if not (isinstance(statement, ast.If) and is_type_checking(statement.test)):
                self._refuse(statement, f"a branch or loop in the body of {self.owner.name}", _BODY)
        elif isinstance(statement, ast.Delete):
            self._refuse(statement, f"`del` in the body of {self.owner.name}", _BODY)
        elif isinstance(statement, ast.ClassDef):
            self.plain.add(statement.name)

    # Methods

    def _function(self, function: _Function) -> None:
        own: tuple[str, ast.expr] | None = None
        for decorator in function.decorator_list:
            kind = self._api(decorator)
            if kind in _DECORATORS:
                own = (kind, decorator)
            elif not self._attach(decorator):
                self._check_foreign(decorator, function)
        if own is None:
            self._bind_plain(function.name)
            return
        if len(function.decorator_list) > 1:
            others = [each for each in function.decorator_list if each is not own[1]]
            self._refuse(
                function,
                f"`@{ast.unparse(others[0])[:60]}` on the capability {function.name}",
                f"`@{own[0]}` alone, and attachments on functions of their own",
            )
            return
        self._add(function.name, self._method(function, own[0], own[1]), function)

    def _api(self, decorator: ast.expr) -> str | None:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        return api_name(self.graph.resolve(self.scope, target))

    def _attach(self, decorator: ast.expr) -> bool:
        """True for an attachment to a capability of this class; records the field a `bind` names."""
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not isinstance(target, ast.Attribute) or target.attr not in {*_ATTACHMENTS, "bind"}:
            return False
        if not isinstance(target.value, ast.Name) or target.value.id not in self.capabilities:
            owner = (
                self.graph.resolve(self.scope, target.value.value) if isinstance(target.value, ast.Attribute) else None
            )
            if isinstance(owner, Local) and isinstance(owner.node, ast.ClassDef):
                self._refuse(decorator, "attaches to a capability of another class", "the attachment inside that class")
                return True
            return False
        if target.attr == "bind" and isinstance(decorator, ast.Call):
            self._bind_path(target.value.id, decorator)
        elif target.attr == "redact":
            name = target.value.id
            self.capabilities[name] = replace(self.capabilities[name], redacts=True)
        elif target.attr == "precondition":
            name = target.value.id
            self.capabilities[name] = replace(self.capabilities[name], checks=True)
        return True

    def _bind_path(self, attribute: str, call: ast.Call) -> None:
        argument = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "path"), None)
        try:
            path = None if argument is None else literal(self.graph, self.scope, argument)
        except NotLiteral as problem:
            self._refuse(call, f"the bound field is {problem.found}", '.bind("device_ids")')
            return
        known = self.capabilities[attribute]
        if isinstance(path, str):
            self.capabilities[attribute] = replace(known, parameters=tuple(sorted({*known.parameters, path})))

    def _check_foreign(self, decorator: ast.expr, function: _Function) -> None:
        """An unknown decorator is fine on a plain method, unless it builds a capability behind its back."""
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if self._builds(target):
            self._refuse(
                decorator,
                f"`@{ast.unparse(decorator)[:60]}` builds the capability {function.name}",
                "`@observation` or `@action` on the method itself",
            )

    def _builds(self, target: ast.expr) -> bool:
        """True for a function of the project whose body mentions remit's decorators."""
        found = self.graph.resolve(self.scope, target)
        if not isinstance(found, Local) or not isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        return any(
            api_name(self.graph.resolve(found.scope, node)) in {*_DECORATORS, "reference"}
            for node in ast.walk(found.node)
            if isinstance(node, ast.Name | ast.Attribute)
        )

    def _method(self, function: _Function, kind: str, decorator: ast.expr) -> DeclaredCapability | None:
        options = (
            self._options(decorator.keywords, function)
            if isinstance(decorator, ast.Call)
            else self._options([], function)
        )
        if options is None:
            return None
        if isinstance(decorator, ast.Call) and decorator.args:
            self._refuse(decorator, f"`@{kind}(…)` with a positional argument", f"`@{kind}` or keywords")
            return None
        if kind == "flow" and options["steps"] is None:
            self._refuse(
                decorator, f"the flow {function.name} declares no steps", '@flow(steps=["view:…", "domain:…"])'
            )
            return None
        effect = Effect.READ.value if kind == "observation" else str(options.pop("effect", Effect.LOCAL_STATE.value))
        options.pop("effect", None)
        written = options.pop("description", None)
        if written is None and has_formatted_docstring(function):
            self._refuse(function.body[0], f"the docstring of {function.name} {FORMATTED}", PLAIN_TEXT)
            return None
        arguments = function.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        return DeclaredCapability(
            name=str(options["name"] or capability_name(function.name)),
            kind=Kind.ACTION.value if kind == "flow" else kind,
            effect=effect,
            description=str(written) if written is not None else docstring(function),
            parameters=tuple(names[1:]),
            options=options,
            path=self.source.path,
            # Where the live function says it starts: at its first decorator.
            line=function.decorator_list[0].lineno,
        )

    def _options(self, keywords: list[ast.keyword], node: ast.AST) -> dict[str, object] | None:
        """Every literal keyword with its value, defaults filled in; None after a finding."""
        options: dict[str, object] = {name: _OPTION_DEFAULTS.get(name) for name in LITERAL_OPTIONS}
        for keyword in keywords:
            if keyword.arg is None:
                self._refuse(node, "`**` hides the keywords of a declaration", "each keyword by name")
                return None
            if keyword.arg == "policies":
                continue
            try:
                value = literal(self.graph, self.scope, keyword.value)
            except NotLiteral as problem:
                self._refuse(keyword.value, f"{keyword.arg}= is {problem.found}", f"{keyword.arg}= with a literal")
                return None
            if not self._stands(keyword.arg, value, keyword.value):
                return None
            options[keyword.arg] = normal_option(keyword.arg, value)
        return options

    def _stands(self, name: str, value: Plain, node: ast.AST) -> bool:
        """Whether a setting can be meant; what it means for this capability is judged with the class."""
        check = _CHECKED.get(name)
        if check is None:
            return True
        try:
            check(Place(subject=self.owner.name, place=None), value)
        except DefinitionError as problem:
            self._refuse(node, problem.rule, problem.do)
            return False
        return True

    # Assignments

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.stmt, *, several: bool) -> None:
        if not isinstance(target, ast.Name):
            return
        if isinstance(value, ast.Name) and value.id in self.capabilities:
            self._refuse(node, f"`{target.id}` is a second name of the capability {value.id}", "one name a capability")
            return
        kind = self._api(value) if isinstance(value, ast.Call) else None
        if kind in _DECORATORS or (isinstance(value, ast.Call) and self._builds(value.func)):
            self._refuse(
                node, f"`{target.id}` is a capability built by a call", "`@observation` or `@action` above `def`"
            )
        elif kind == "reference" and isinstance(value, ast.Call):
            if several:
                self._refuse(node, "one reference under two names", "one name a capability")
            else:
                self._add(target.id, self._reference(value), node)
        else:
            self._bind_plain(target.id)

    def _reference(self, call: ast.Call) -> DeclaredCapability | None:
        keywords = [keyword for keyword in call.keywords if keyword.arg != "id"]
        argument = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "id"), None)
        options = self._options(keywords, call)
        try:
            target = None if argument is None else literal(self.graph, self.scope, argument)
        except NotLiteral as problem:
            self._refuse(call, f"the id of a reference is {problem.found}", 'reference("domain:…") with a literal')
            return None
        if options is None or not isinstance(target, str):
            return None
        description = options.pop("description", None)
        return DeclaredCapability(
            name=target,
            kind=Kind.REFERENCE.value,
            effect=None,
            description=None if description is None else str(description),
            parameters=(),
            options=options,
            path=self.source.path,
            line=call.lineno,
        )

    def _add(self, attribute: str, capability: DeclaredCapability | None, node: ast.AST) -> None:
        if attribute in self.capabilities:
            self._refuse(node, f"{self.owner.name}.{attribute} is declared twice", "another name")
        elif capability is not None:
            self.plain.discard(attribute)
            self.capabilities[attribute] = capability

    def _bind_plain(self, name: str) -> None:
        # Attached functions may share a name such as `_`; one that hides a capability raises when the class is made.
        self.plain.add(name)


def has_formatted_docstring(node: "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef") -> bool:
    """True where an f-string stands in the place of the docstring."""
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.JoinedStr)


def docstring(node: "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef") -> str:
    """The first paragraph of a docstring, as the live class has it."""
    return first_paragraph(ast.get_docstring(node, clean=False))
