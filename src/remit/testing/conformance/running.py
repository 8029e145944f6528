"""Runs cases of `spec/page-protocol` against a server; it interprets data and knows nothing of remit's own rooms."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import jsonschema_rs

from remit.testing.conformance.hearing import Streams
from remit.testing.conformance.matching import faults, filled

ANY_SITE: Final = "any"
TIMEOUT_S: Final = 60.0
JSON: Final[Mapping[str, str]] = {"Content-Type": "application/json"}
EVENTS: Final = "/events"
VERBS: Final = ("describe", "invoke", "propose", "handoff")
RUNS: Final[Mapping[str, Any]] = {"verb": "invoke", "body": {"capability": "view:orders.stage.readRuns"}}
"""How what has run is looked up, in the world of the cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: a name, what is given (None: any site), and the steps with what each is answered.

    `looks_back` says that a last step of the runner's own asks what has run.
    """

    name: str
    given: Mapping[str, Any] | None
    steps: tuple[Mapping[str, Any], ...]
    looks_back: bool = False

    @property
    def refuses(self) -> bool:
        """Whether it ends in a refusal: by the protocol, or by a status above 399."""
        last = self.steps[-2 if self.looks_back else -1]["expect"]
        return last.get("status", 200) >= 400 or last.get("body", {}).get("ok") is False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a case ended; without faults it passed."""

    case: Case
    faults: tuple[str, ...]


class Cases:
    """The cases in a folder, or of one file of it, judged by their schema; a ValueError says what is wrong."""

    def __init__(self, folder: Path, only: str = "*") -> None:
        schema = _json(folder / "case.schema.json")
        self.givens = _json(folder / "given.json")
        messages = _json(folder.parent / "page-protocol.json")["$defs"]
        self.answers = {
            verb: jsonschema_rs.validator_for({"$ref": f"#/$defs/{verb}.answer", "$defs": messages}) for verb in VERBS
        }
        self.event = jsonschema_rs.validator_for({"$ref": "#/$defs/event", "$defs": messages})
        judge = jsonschema_rs.validator_for(schema)
        self.cases: list[Case] = []
        for file in sorted((folder / "cases").glob(f"{only}.json")):
            for form in _json(file):
                problem = next(iter(judge.iter_errors(form)), None)
                if problem is not None:
                    raise ValueError(f"{file.name}, {form.get('name')}: {problem.message}")
                self.cases.append(
                    Case(name=form["name"], given=self._given(form), steps=_steps(form), looks_back="ran" in form)
                )

    def _given(self, form: Mapping[str, Any]) -> Mapping[str, Any] | None:
        given = form["given"]
        if given == ANY_SITE:
            return None
        own = dict(given)
        return {**self.givens[own.pop("like")], **own} if "like" in own else own


def controlled(cases: Cases, control: str) -> Iterator[Result]:
    """Run all cases, each on a site that the control has made for it."""
    with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as http:
        for case in cases.cases:
            given = case.given if case.given is not None else cases.givens["any"]
            made = http.post(f"{control.rstrip('/')}/case", json={"given": given})
            made.raise_for_status()
            site = made.json()
            yield _run(case, cases, http, _Site(site["url"], {**site["tokens"], "good": site["token"]}))


def in_the_way(url: str, token: str) -> str | None:
    """Why no case can be run against a live site: nobody answers there, or not to this token; None when one can."""
    try:
        with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as http:
            answer = http.post(
                f"{url.rstrip('/')}/describe", content="{}", headers={**JSON, "Authorization": f"Bearer {token}"}
            )
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        return f"the server cannot be reached: {problem}"
    return "the token is not good at this door: 401" if answer.status_code == httpx2.codes.UNAUTHORIZED else None


def live(cases: Cases, url: str, token: str) -> Iterator[Result]:
    """Run the cases that any site has to pass; they change none of its data."""
    with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as http:
        for case in cases.cases:
            if case.given is None:
                yield _run(case, cases, http, _Site(url.rstrip("/"), {"good": token}))


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a case runs, and its tokens by name."""

    url: str
    tokens: Mapping[str, str]


def _run(case: Case, cases: Cases, http: httpx2.Client, site: _Site) -> Result:
    answers: list[Any] = []
    found: list[str] = []
    with Streams(http, cases.event) as streams:
        for index, step in enumerate(case.steps):
            try:
                answer, judged = _step(step, answers, _Playing(cases, http, site, streams))
            except (LookupError, TypeError, httpx2.HTTPError) as problem:
                found.append(f"step {index}: {type(problem).__name__}: {problem}")
                break
            answers.append(answer)
            found += [f"step {index}: {each}" for each in judged]
    return Result(case=case, faults=tuple(found))


@dataclass(frozen=True, slots=True)
class _Playing:
    """What the steps of one case need."""

    cases: Cases
    http: httpx2.Client
    site: _Site
    streams: Streams


def _step(step: Mapping[str, Any], answers: list[Any], now: _Playing) -> tuple[Any, list[str]]:
    """One step: what it was answered, and what is wrong with that."""
    if "hear" in step:
        return now.streams.hear(step["hear"], filled(step["expect"], answers))
    request = _request(step, now.site, answers)
    if "listen" in step:
        status, answer = now.streams.begin(step["listen"], request)
    else:
        response = now.http.request(**request)
        status, answer = response.status_code, _body(response)
    judged = _judged(filled(step["expect"], answers), status, answer)
    if status == httpx2.codes.OK and "verb" in step:
        schema = now.cases.answers[step["verb"]]
        judged += [f"against the schema: {each.message}" for each in schema.iter_errors(answer)]
    return answer, judged


def _steps(form: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    if "ran" not in form:
        return tuple(form["steps"])
    return (*form["steps"], {**RUNS, "expect": {"body": {"ok": True, "output": form["ran"]}}})


def _request(step: Mapping[str, Any], site: _Site, answers: list[Any]) -> dict[str, Any]:
    method, path = step.get("method", "POST"), step.get("path", f"/{step.get('verb', '')}")
    if "listen" in step:
        method, path = "GET", EVENTS
    headers = {**JSON, **step.get("headers", {})}
    token = step.get("token", "good")
    if token != "none":
        headers["Authorization"] = f"Bearer {site.tokens.get(token, token)}"
    request: dict[str, Any] = {"method": method, "url": f"{site.url}{path}", "headers": headers}
    if "text" in step:
        request["content"] = step["text"] + " " * step.get("padding", 0)
    elif method == "POST":
        request["content"] = json.dumps(filled(step.get("body", {}), answers))
    return request


def _judged(wanted: Mapping[str, Any], status: int, answer: Any) -> list[str]:
    found = [] if status == wanted.get("status", 200) else [f"status {status}"]
    if "body" in wanted:
        found += faults(wanted["body"], answer)
    listed = answer.get("capabilities", []) if isinstance(answer, Mapping) else []
    ids = sorted(each.get("id") for each in listed)
    if "ids" in wanted and ids != sorted(wanted["ids"]):
        found.append(f"it lists {ids}, not {sorted(wanted['ids'])}")
    for id, each in wanted.get("capability", {}).items():
        own = next((form for form in listed if form.get("id") == id), None)
        found += [f"{id} is not listed"] if own is None else faults(each, own, id)
    return found


def _body(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
