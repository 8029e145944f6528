"""What is measured, as data; each case once more than a person would notice."""

from collections.abc import Callable, Mapping

from bench.harness import Case, Ready
from bench.site import AGENT, Panel, Table, panel_of_its_own, rows_of_size, surface_of
from remit import Invocation, Ok, Surface
from remit._base.boundary import canonical, take
from remit._base.digest import sha256_hex
from remit._model.listing import Snapshot
from remit.policies import Policy, authenticated, require_grant

TOUCH = "view:bench.panel.touch"
READ = "view:bench.panel.read"


def _ok(answer: object) -> bool:
    return isinstance(answer, Ok)


def _call(surface: Surface, capability: str, instance: str | None, input: Mapping[str, object] | None = None) -> Ready:
    """One call as any door makes it; the id is made by the surface, and making the request is timed, too."""

    async def run() -> object:
        return await surface.invoke(Invocation(capability, input, instance=instance), AGENT)

    return Ready(run=run, holds=_ok)


def _panels(count: int, policies: tuple[Policy, ...] = ()) -> Surface:
    surface = surface_of([Panel], policies)
    for number in range(count):
        surface.mount(Panel(), f"p{number}")
    return surface


def _no_op() -> Ready:
    return _call(_panels(1), TOUCH, None)


def _two_policies() -> Ready:
    return _call(_panels(1, (authenticated(), require_grant("panels:work"))), TOUCH, None)


def _observation() -> Ready:
    return _call(_panels(1), READ, None)


def _thousand() -> Ready:
    return _call(_panels(1_000), TOUCH, "p500")


def _mounting() -> Ready:
    surface = surface_of([Panel])
    panels = [Panel() for _ in range(100)]

    async def run() -> object:
        mounts = [surface.mount(panel, f"p{number}") for number, panel in enumerate(panels)]
        live = sum(mount.status == "mounted" for mount in mounts)
        for mount in mounts:
            mount.unmount()
        return live

    return Ready(run=run, holds=lambda live: live == len(panels))


def _snapshot() -> Ready:
    surface = _panels(100)

    async def run() -> object:
        return surface.snapshot(AGENT)

    return Ready(run=run, holds=lambda answer: isinstance(answer, Snapshot) and len(answer.capabilities()) == 200)


def _definitions() -> Ready:
    classes = [panel_of_its_own(number) for number in range(150)]
    surface = surface_of(classes)
    for each in classes:
        surface.mount(each())
    toolset = surface.connect(AGENT).toolset()

    async def run() -> object:
        return toolset.definitions()

    return Ready(run=run, holds=lambda answer: isinstance(answer, list) and len(answer) == 300)


def _digest() -> Ready:
    value, _ = take({"rows": rows_of_size(32_768)})

    async def run() -> object:
        return sha256_hex(canonical(value))

    return Ready(run=run, holds=lambda answer: isinstance(answer, str) and len(answer) == 64)


def _large_input() -> Ready:
    surface = surface_of([Table])
    surface.mount(Table())
    return _call(surface, "view:bench.table.load", None, {"rows": rows_of_size(35_840)})


def _case(name: str, n: int, prepare: Callable[[], Ready]) -> Case:
    return Case(name=name, n=n, prepare=prepare)


CORE = (
    _case("no-op action", 10_000, _no_op),
    _case("two policies", 10_000, _two_policies),
    _case("observation", 10_000, _observation),
    _case("1,000 mounted", 10_000, _thousand),
    _case("mount and unmount 100", 400, _mounting),
    _case("snapshot 100", 2_000, _snapshot),
    _case("definitions 300", 1_000, _definitions),
    _case("digest 32 kB", 2_000, _digest),
    _case("35 kB input", 1_000, _large_input),
)

SUITES: Mapping[str, tuple[Case, ...]] = {"core": CORE}
