"""The question to a person, drawn in the page it came from: one exact call, field by field (SPEC 7.2, 7.3)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from nicegui import Client, background_tasks, ui

from remit._base.text import shown
from remit._model.consumer import ConsumerKind
from remit._model.effects import Effect
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit._model.shown_input import fields_of
from remit.integrations.nicegui.style import DECISIONS

DRAWN_S: Final = 0.5
"""How long an approve control stands on the screen before it works (SPEC 7.3)."""

Answer = Literal["approve", "deny", "later"]

_DECIDES_HERE: Final = {ConsumerKind.EMBEDDED, ConsumerKind.MCP, ConsumerKind.TEST}
_EFFECTS: Final = {
    Effect.DESTRUCTIVE: "Destructive: it cannot be undone",
    Effect.EXTERNAL_SIDE_EFFECT: "Acts outside this application: it cannot be undone",
    Effect.SERVER_MUTATION: "Changes data on the server",
    Effect.SERVER_QUERY: "Reads data on the server",
    Effect.LOCAL_STATE: "Changes this page only",
    Effect.NAVIGATION: "Opens another part of the application",
    Effect.READ: "Reads this page",
}
# One line each, so that nothing moves under a finger when it changes.
_UNSEEN: Final = "Approve works once everything above has been on the screen."
_SEEN: Final = "Everything above has been on the screen."
_ELSEWHERE: Final = "This agent can drive the browser, so its requests are decided on a page of their own."
_CAUSES: Final = {
    CancelCause.UNMOUNTED: "the part of the page it belonged to has been closed",
    CancelCause.VIEW_RELOADED: "the page was loaded again",
    CancelCause.VIEW_CLOSED: "the page was closed",
    CancelCause.WITHDRAWN: "the agent took it back",
    CancelCause.STOPPING: "the application was stopped",
}

# Resolves when a visible page has drawn two frames and every value has been on the screen to its end.
_DRAWN: Final = """(async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  while (document.visibilityState !== "visible")
    await new Promise(done => document.addEventListener("visibilitychange", done, {once: true}));
  // The message may come before the framework has made the elements it speaks of.
  let dialog = null;
  for (let tries = 0; tries < 600 && !(dialog = document.getElementById(%s)); tries++) await frame();
  if (!dialog) return false;
  await frame();
  await frame();
  const seen = mark => new Promise(done => {
    const watch = new IntersectionObserver(entries => {
      // Without a height the dialog is still being unfolded, and everything lies on one point.
      if (entries.some(entry => entry.isIntersecting && entry.boundingClientRect.height > 0)) {
        watch.disconnect();
        done();
      }
    });
    watch.observe(mark);
  });
  await Promise.all([...dialog.querySelectorAll("[data-remit-end]")].map(seen));
  return true;
})()"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and whom to tell the answer; `answered` raises nothing a person should see."""

    request: ConfirmationView
    answered: Callable[[Answer], Awaitable[None]]


class ApprovalDialog:
    """One open dialog. Approve works half a second after the browser has drawn everything, not before."""

    def __init__(self, client: Client, question: Question) -> None:
        self._client = client
        self._question = question
        self.request = question.request
        self._watching: asyncio.Task[None] | None = None
        self._ready = False
        self._done = False
        # In the client's content, not in a component's slot: a sub page takes its own elements with it.
        with client.content:
            self._dialog = ui.dialog().props("persistent no-route-dismiss transition-duration=0")
            self._dialog.props(f"aria-labelledby={self._id('heading')} aria-describedby={self._id('effect')}")
        with self._dialog, ui.element("section").classes("remit-dialog") as self._card:
            self._draw()
        self._dialog.open()
        self.watch()

    def watch(self) -> None:
        """Ask the browser to say when all was drawn; asked again when the person's socket comes back."""
        if self._done or self._ready or not self._decides_here:
            return
        if self._watching is not None:
            self._watching.cancel()
        self._watching = background_tasks.create(self._enable_when_drawn(), name="remit approval drawn")

    def end(self, request: ConfirmationView) -> None:
        """Close, and say what became of the request."""
        if self._done:
            return
        self.close()
        with self._client.content:
            ui.notify(_ended(request), color="grey-10", position="top", timeout=8000)

    def close(self) -> None:
        """Take the dialog away; twice is a no-op."""
        self._done = True
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        if not self._dialog.is_deleted:
            self._dialog.close()
            self._dialog.delete()

    def say(self, text: str) -> None:
        """Show in the dialog why an answer was not taken."""
        self._alert_text.set_text(text)
        self._alert.set_visibility(True)

    @property
    def _decides_here(self) -> bool:
        return self.request.consumer_kind in _DECIDES_HERE

    def _id(self, part: str) -> str:
        return f"remit-{self.request.id}-{part}"

    def _draw(self) -> None:
        request = self.request
        _text("h2", request.title).props(f"id={self._id('heading')}")
        effect = _text("p", _EFFECTS[request.effect]).props(f"id={self._id('effect')}").classes("remit-effect")
        if request.effect.grave:
            effect.classes("remit-grave")
        _text("p", request.description)
        with ui.element("dl").classes("remit-facts"):
            _fact("Asked by", f"{request.consumer} ({request.consumer_kind})")
            _fact("In the name of", request.principal)
            _fact("Capability", f"{request.capability} of {request.component}/{request.instance}")
            if request.approvers:
                _fact("Who may approve", "whoever holds " + " and ".join(request.approvers))
            if request.summary is not None:
                _fact("Note of the application", request.summary)
        self._draw_fields()
        self._alert = ui.element("p").props("role=alert").classes("remit-alert")
        with self._alert:
            self._alert_text = ui.label()
        self._alert.set_visibility(False)
        self._draw_foot()

    def _draw_fields(self) -> None:
        fields = fields_of(self.request)
        heading = self._id("fields")
        _text("h3", "Exactly this will be sent, and nothing else").props(f"id={heading}")
        # A scrolling region takes the focus, so that the keyboard can scroll it.
        with (
            ui.element("div").props(f"tabindex=0 role=group aria-labelledby={heading}").classes("remit-fields"),
            ui.element("table"),
            ui.element("tbody"),
        ):
            for field in fields:
                with ui.element("tr"):
                    with ui.element("th").props("scope=row"):
                        _text("code", field.path)
                    with ui.element("td"):
                        _text("em" if field.withheld else "code", field.value)
                        ui.element("span").props("data-remit-end").classes("remit-end")
                    _text("td", "this page, fixed" if field.bound else "the agent").classes("remit-source")
            if not fields:
                with ui.element("tr"), ui.element("td"):
                    _text("span", "No fields")
                    ui.element("span").props("data-remit-end").classes("remit-end")

    def _draw_foot(self) -> None:
        self._left = ui.label(self._time_left()).classes("remit-left")
        ui.timer(1.0, self._tick)
        self._hint = ui.label(_UNSEEN if self._decides_here else _ELSEWHERE).classes("remit-left").props("role=status")
        with ui.element("div").classes("remit-answers"):
            if self._decides_here:
                ui.button("Deny", on_click=lambda: self._answer("deny"), color=None).props("outline no-caps")
            ui.button("Later", on_click=lambda: self._answer("later"), color=None).props("flat no-caps")
            if not self._decides_here:
                # An agent that drives this browser could press our own buttons (SPEC 7.4).
                ui.link("Decide on the decision page", f"{DECISIONS}/{self.request.id}", new_tab=True)
                return
            self._approve = ui.button("Approve exactly this", on_click=lambda: self._answer("approve"), color=None)
            self._approve.props("unelevated no-caps").classes("remit-approve")
            if self.request.effect.grave:
                self._approve.classes("remit-irreversible")
            self._approve.disable()

    async def _answer(self, answer: Answer) -> None:
        if self._done or (answer == "approve" and not self._ready) or (answer == "deny" and not self._decides_here):
            return
        await self._question.answered(answer)

    async def _enable_when_drawn(self) -> None:
        patience = max((self.request.decide_by - datetime.now(UTC)).total_seconds(), 1.0)
        try:
            drawn = await self._client.run_javascript(_DRAWN % json.dumps(self._card.html_id), timeout=patience)
        except TimeoutError:
            return
        if drawn is not True:
            return
        await asyncio.sleep(DRAWN_S)
        if not self._done:
            self._ready = True
            self._hint.set_text(_SEEN)
            self._approve.enable()

    def _tick(self) -> None:
        self._left.set_text(self._time_left())

    def _time_left(self) -> str:
        seconds = max(int((self.request.decide_by - datetime.now(UTC)).total_seconds()), 0)
        return f"{seconds // 60}:{seconds % 60:02d} left to decide; after that it does not happen."


def _text(tag: str, text: str) -> ui.element:
    with ui.element(tag) as element:
        ui.label(shown(text)).classes("remit-text")
    return element


def _fact(name: str, value: str) -> None:
    _text("dt", name)
    _text("dd", value)


def _ended(request: ConfirmationView) -> str:
    title = shown(request.title)
    match request.status:
        case ConfirmationStatus.EXPIRED:
            return f"{title}: nobody decided in time. It does not happen."
        case ConfirmationStatus.DENIED:
            return f"{title}: denied. It does not happen."
        case ConfirmationStatus.CANCELLED:
            why = "" if request.cause is None else f", because {_CAUSES[request.cause]}"
            return f"{title}: cancelled{why}. It does not happen."
        case ConfirmationStatus.APPROVED | ConfirmationStatus.SPENT | ConfirmationStatus.PENDING:
            return f"{title}: approved, once."
