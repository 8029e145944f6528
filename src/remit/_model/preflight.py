"""What a call would come to, without calling: for the host, before it offers or plans one (SPEC 6.11)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._model.effects import Effect
from remit.errors import AgentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person would be shown, beside the exact effective input: the words of `ConfirmationView`.

    `summary` is the author's or a policy's text. `approvers` are the grants a decider needs, all of them; none when the
    principal decides. `withheld` names the fields whose values would not be shown.
    """

    title: str
    description: str
    effect: Effect
    bound: tuple[str, ...]
    required: tuple[str, ...]
    summary: str | None
    approvers: tuple[str, ...]
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What the steps up to the precondition say of a call that is not made; for the host, never for an agent.

    `error` is what the agent would be told by the first of them that refuses, and then all else is empty.
    `registration` and `instance` say which live one is meant, `input` is the effective input, an own copy in which
    sensitive values are withheld. `question` is there when a person has to approve; whether somebody could be asked,
    and evidence that was given, belong to later steps.
    `standing` is the id of the approval for the session under which it would run: then nobody would be asked. Nothing
    is used up, and until the call comes it may have ended.
    With `repeat` the id is one of a call that runs or is kept: its answer would be handed over and nothing run, so that
    there is neither input nor question.
    """

    capability_id: str
    error: AgentError | None = None
    registration: str | None = None
    instance: str | None = None
    input: Mapping[str, object] | None = None
    question: Question | None = None
    standing: str | None = None
    repeat: bool = False

    @property
    def ok(self) -> bool:
        """True when none of the steps refuses."""
        return self.error is None
