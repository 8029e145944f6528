"""Three ways to decide who sees what and what an id means: by lists, by a table kept ready, by rules in order."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from tests.servers.world import WORLD, Agent, Entry, Site, View


def matches(pattern: str, text: str, between: str) -> bool:
    """Whole segments; `*` is one, `**` the rest, which is one at least."""
    wanted, given = pattern.split(between), text.split(between)
    if wanted[-1] == "**":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else [""]
    return len(wanted) == len(given) and all(one in {"*", other} for one, other in zip(wanted, given, strict=True))


def holds(patterns: list[str], entry: Entry) -> bool:
    """Whether one of the patterns holds a capability: by its id, or by the region in which it stands."""
    plane, _, name = entry.capability.id.partition(":")
    for pattern in patterns:
        kind, _, rest = pattern.partition(":")
        if kind == "region" and matches(rest, "/".join(entry.part.chain), "/"):
            return True
        if kind == plane and matches(rest, name, "."):
            return True
    return False


def every(view: View) -> Iterator[Entry]:
    """Everything that is mounted in a view."""
    return (Entry(capability, part) for part in view.parts for capability in WORLD[part.type])


def steps_of(entry: Entry) -> list[Entry]:
    """The steps of a flow, each a capability of the same part; none of what is no flow."""
    known = {capability.id: capability for capability in WORLD[entry.part.type]}
    return [Entry(known[id], entry.part) for id in entry.capability.steps]


def unavailable(site: Site, entry: Entry) -> str | None:
    """Why a visible capability cannot be called now."""
    capability = entry.capability
    if capability.id in site.disabled:
        return site.disabled[capability.id]
    if capability.approval != "none" and not site.decider:
        return "nobody can confirm"
    return None


def rows(site: Site, agent: Agent) -> Mapping[str, Any]:
    """The rows that an agent reaches."""
    return site.rows.get(agent.name, {})


def reaches(site: Site, agent: Agent, record: Any) -> bool:
    """Whether a value is a row that the agent reaches, by type and value."""
    known = rows(site, agent).get("ids", ())
    return isinstance(record, str | int) and any(type(each) is type(record) and each == record for each in known)


def named(id: str, entry: Entry) -> bool:
    """Whether an id, with a kind and an instance or without, is one of this capability."""
    capability, part = entry.capability, entry.part
    kinds = [""] if capability.kind is None else ["", f"@{capability.kind}"]
    return id in {f"{capability.id}{kind}{end}" for kind in kinds for end in ("", f"#{part.instance}")}


class Access(Protocol):
    """What a door asks."""

    def __init__(self, site: Site) -> None: ...

    def listed(self, agent: Agent, view: View) -> list[Entry]:
        """What the agent may see."""
        ...

    def found(self, agent: Agent, view: View, id: str) -> list[Entry]:
        """What an id means to it."""
        ...

    def still(self, agent: Agent, view: View, entry: Entry) -> bool:
        """Whether it may see this now, the last thing before it runs."""
        ...

    def counts(self, agent: Agent) -> tuple[int, int]:
        """How many rows it reaches, and how many of them are off the screen."""
        ...


class Lists:
    """One filter over everything that is mounted, run anew for whatever is asked."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def listed(self, agent: Agent, view: View) -> list[Entry]:
        return [entry for entry in every(view) if self.lets_through(agent, entry)]

    def found(self, agent: Agent, view: View, id: str) -> list[Entry]:
        return [entry for entry in self.listed(agent, view) if named(id, entry)]

    def still(self, agent: Agent, view: View, entry: Entry) -> bool:
        return entry in self.listed(agent, view)

    def counts(self, agent: Agent) -> tuple[int, int]:
        reached = rows(self.site, agent)
        return len(reached.get("ids", ())), len(reached.get("offscreen", ()))

    def lets_through(self, agent: Agent, entry: Entry) -> bool:
        """The site exposes it, the scope holds it, nothing hides it."""
        site = self.site
        return (
            holds(site.exposure, entry)
            and holds(agent.scope, entry)
            and entry.capability.id not in site.hidden
            and (agent.parent is None or holds(agent.parent.scope, entry))
            and all(self.lets_through(agent, step) for step in steps_of(entry))
        )


class Tables:
    """A table of every way to write every id, for each agent and view; made anew when the site has moved on."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._made: dict[tuple[Agent, View], tuple[int, dict[str, list[Entry]], list[Entry]]] = {}

    def listed(self, agent: Agent, view: View) -> list[Entry]:
        return self._table(agent, view)[1]

    def found(self, agent: Agent, view: View, id: str) -> list[Entry]:
        return self._table(agent, view)[0].get(id, [])

    def still(self, agent: Agent, view: View, entry: Entry) -> bool:
        return entry in self._table(agent, view)[0].get(entry.capability.id, [])

    def counts(self, agent: Agent) -> tuple[int, int]:
        reached = {key: set(map(repr, ids)) for key, ids in rows(self.site, agent).items()}
        ids = reached.get("ids", set())
        return len(ids), len(ids & reached.get("offscreen", set()))

    def moved(self, version: int) -> bool:
        """Whether a table of this version has to be made anew."""
        return version != self.site.version

    def _table(self, agent: Agent, view: View) -> tuple[dict[str, list[Entry]], list[Entry]]:
        made = self._made.get((agent, view))
        if made is None or self.moved(made[0]):
            made = self._made[agent, view] = self.site.version, *self._build(agent, view)
        return made[1], made[2]

    def _build(self, agent: Agent, view: View) -> tuple[dict[str, list[Entry]], list[Entry]]:
        scopes = [agent.scope] if agent.parent is None else [agent.scope, agent.parent.scope]
        left = [entry for entry in every(view) if entry.capability.id not in self.site.hidden]
        for patterns in (self.site.exposure, *scopes):
            left = [entry for entry in left if holds(patterns, entry)]
        left = [entry for entry in left if all(step in left for step in steps_of(entry))]
        table: dict[str, list[Entry]] = {}
        for entry in left:
            kind = entry.capability.kind
            for end in ("", f"#{entry.part.instance}"):
                table.setdefault(entry.capability.id + end, []).append(entry)
                if kind is not None:
                    table.setdefault(f"{entry.capability.id}@{kind}{end}", []).append(entry)
        return table, left


class Rules:
    """Rules in an order, each of which may say no; the first no counts. Ids are taken apart and compared."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def listed(self, agent: Agent, view: View) -> list[Entry]:
        return list(filter(lambda entry: self.still(agent, view, entry), every(view)))

    def found(self, agent: Agent, view: View, id: str) -> list[Entry]:
        name, sign, instance = id.partition("#")
        name, at, kind = name.partition("@")
        return [
            entry
            for entry in self.listed(agent, view)
            if entry.capability.id == name
            and (not at or entry.capability.kind == kind)
            and (not sign or entry.part.instance == instance)
        ]

    def still(self, agent: Agent, view: View, entry: Entry) -> bool:
        return all(self.rules(agent, view, entry))

    def counts(self, agent: Agent) -> tuple[int, int]:
        reached = rows(self.site, agent)
        off = reached.get("offscreen", ())
        return sum(1 for _ in reached.get("ids", ())), sum(1 for id in reached.get("ids", ()) if id in off)

    def rules(self, agent: Agent, view: View, entry: Entry) -> Iterator[bool]:
        """What has to be so, one after the other."""
        yield entry.part.live and entry.part in view.parts
        yield holds(self.site.exposure, entry)
        yield entry.capability.id not in self.site.hidden
        asking: Agent | None = agent
        while asking is not None:
            yield holds(asking.scope, entry)
            asking = asking.parent
        for step in steps_of(entry):
            yield from self.rules(agent, view, step)
