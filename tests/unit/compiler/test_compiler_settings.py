"""How calls take turns and are run again: read from the source, and part of the contract (SPEC 6.6, 6.13, 3.3)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit import Authority, Component, DefinitionError, Retry, action, parallel
from remit._base.boundary import Json
from remit._contract.manifest import assemble, parse
from remit._contract.row import rows_of
from remit.cli.report import as_text, lines_of
from remit.compiler import compile_project
from remit.compiler.extract import extract
from remit.compiler.graph import load_graph
from remit.compiler.weigh import Drift, weigh

WriteProject = Callable[..., Path]
APP = '''
import remit
from remit import Component, Procedures, Retry, action, key as one_of, observation, parallel, reference
from names import EXPORT, TRIES

backend = Procedures()

@backend.operation("devices.find", effect="server-query")
async def find() -> int:
    """Find."""
    return 1

class Table(Component, type="table"):
    """A table."""

    @action
    def plain(self) -> None:
        """Plain."""

    @action(concurrency="capability")
    def alone(self) -> None:
        """Alone."""

    @action(concurrency=EXPORT, blocking=True)
    def export(self) -> None:
        """Export."""

    @action(concurrency=parallel(places=3), idempotent=True, retry=remit.Retry(attempts=4, cap=1))
    def several(self) -> None:
        """Several."""

    @observation(retry=TRIES, concurrency=one_of("ex" + "port"))
    def read(self) -> int:
        """Read."""
        return 1

    find = reference("domain:devices.find", concurrency="instance", retry=Retry(2))
'''
NAMES = """
from remit import Retry, key

EXPORT = key("export")
TRIES = Retry(3, 0.5, 4.0, 0)
"""


@pytest.mark.requirement("6.6-in-the-contract")
def test_turns_and_attempts_are_read_and_recorded_alike_by_both_passes(write_project: WriteProject) -> None:
    compiled = compile_project(write_project(app=APP, names=NAMES))
    found = {
        str(block["id"]): (block["concurrency"], block["retry"]) for block in compiled.manifest.capabilities.values()
    }
    assert found == {
        "view:table.plain": ("instance", None),
        "view:table.alone": ("capability", None),
        "view:table.export": ({"key": "export"}, None),
        "view:table.several": ({"parallel": 3}, {"attempts": 4, "backoff": 0.2, "cap": 1, "jitter": 0.5}),
        "view:table.read": ({"key": "export"}, {"attempts": 3, "backoff": 0.5, "cap": 4, "jitter": 0}),
        "domain:devices.find": ("instance", {"attempts": 2, "backoff": 0.2, "cap": 2, "jitter": 0.5}),
    }
    text = as_text(lines_of(compiled.manifest, compiled.places), None)
    for id, says in (
        ("view:table.alone", "one at a time, apart from everything else of its instance"),
        ("view:table.export", "one at a time with everything of the key export"),
        ("view:table.several", "up to 3 at once; run up to 4 times when it fails"),
        ("view:table.read", "one at a time with everything of the key export; run up to 3 times when it fails"),
        ("domain:devices.find", "one at a time with the actions of its instance; run up to 2 times when it fails"),
    ):
        assert any(line.startswith(id) and line.endswith(says) for line in text.splitlines()), (id, text)
    assert "view:table.plain" not in text.partition("gates")[2]


@pytest.mark.requirement("6.6-in-the-contract")
@pytest.mark.parametrize(
    ("options", "field"), [({"concurrency": parallel(2)}, "concurrency"), ({"retry": Retry(2)}, "retry"), ({}, "retry")]
)
def test_a_class_that_takes_turns_otherwise_than_recorded_is_refused(options: dict[str, Any], field: str) -> None:
    def declare(given: dict[str, Any]) -> type[Component]:
        class Table(Component, type="table"):
            """A table."""

            @action(idempotent=True, **given)
            def put(self) -> None:
                """Put."""

        return Table

    recorded = rows_of(declare({"retry": Retry(3)} if not options else {}), {})
    manifest = assemble([recorded.block], [row.block for row in recorded.capabilities], {}, exposure={}, policies=())
    live = declare(options)
    with pytest.raises(DefinitionError, match=f"table.put: {field} differs from remit.contract.json") as refused:
        Authority(parse(manifest.to_bytes())).seal(live)
    assert refused.value.code == "CONTRACT_MISMATCH"


TURNS: list[Json] = [{"key": "a"}, "instance", "capability", {"parallel": 2}, {"parallel": 3}, None]


@pytest.mark.requirement("13.6-turns-and-attempts")
def test_more_at_once_and_more_attempts_are_widening() -> None:
    for place, before in enumerate(TURNS):
        for after in TURNS[place + 1 :]:
            assert weigh("concurrency", before, after) == {Drift.WIDENING}
            assert weigh("concurrency", after, before) == {Drift.NARROWING}
    assert weigh("concurrency", {"key": "a"}, {"key": "b"}) == {Drift.WIDENING}
    three: Json = {"attempts": 3, "backoff": 1, "cap": 1, "jitter": 0}
    five: Json = {"attempts": 5, "backoff": 1, "cap": 1, "jitter": 0}
    later: Json = {"attempts": 3, "backoff": 2, "cap": 9, "jitter": 0}
    assert [weigh("retry", *pair) for pair in ((None, three), (three, five))] == [{Drift.WIDENING}] * 2
    assert [weigh("retry", *pair) for pair in ((five, three), (three, None))] == [{Drift.NARROWING}] * 2
    assert weigh("retry", three, later) == {Drift.NEUTRAL}


REFUSED = {
    "parallel without a number": ("concurrency=parallel()", "parallel() says no number of calls"),
    "parallel of none": ("concurrency=parallel(0)", "parallel(0) says no number of calls"),
    "parallel of a fraction": ("concurrency=parallel(1.5)", "parallel(1.5) says no number of calls"),
    "parallel of a truth": ("concurrency=parallel(True)", "parallel(True) says no number of calls"),
    "parallel not called": ("concurrency=parallel", "concurrency= is `remit.parallel`, whose value"),
    "parallel of too much": ("concurrency=parallel(1, 2)", "`parallel(1, 2)`, which is not how parallel is called"),
    "a key without a name": ("concurrency=key()", "key() has no name"),
    "a key with another word": ("concurrency=key(called='x')", "which is not how key is called"),
    "an unknown mode": ("concurrency='serial'", "'serial' is no mode"),
    "a computed number": ("concurrency=parallel(len('ab'))", "concurrency= is the expression `len('ab')`"),
    "a spread": ("concurrency=parallel(**{'places': 1})", "concurrency= is the expression"),
    "one attempt": ("retry=Retry(1)", "1 attempts; it takes 2 to 10"),
    "attempts of no Retry": ("retry=3", "retry=3 is no Retry"),
    "a Retry of somebody else": ("retry=str()", "retry= is the expression `str()`"),
    "no attempts": ("retry=Retry()", "`Retry()`, which is not how Retry is called"),
}


@pytest.mark.requirement("6.6-modes-that-cannot-be-meant", "6.13-a-retry-that-cannot-be-meant")
@pytest.mark.parametrize("form", REFUSED)
def test_the_static_pass_refuses_what_cannot_be_meant_with_its_place(write_project: WriteProject, form: str) -> None:
    written, says = REFUSED[form]
    root = write_project(
        app=f'''
        from remit import Component, Retry, key, observation, parallel

        class Table(Component, type="table"):
            """A table."""

            @observation({written})
            def read(self) -> int:
                """Read."""
                return 1
        '''
    )
    (found,) = extract(load_graph(root, ("app",), [root])).findings
    assert (found.path, found.line) == ("app.py", 6)
    assert says in found.found
