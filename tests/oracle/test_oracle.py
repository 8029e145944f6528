"""Product and model agree on random surfaces, policies, consumers and calls; and the model can be disagreed with."""

import dataclasses

import pytest

from remit._model.effects import Confirmation, Effect, Kind
from remit.errors import ErrorCode
from tests.error_matrix import MATRIX
from tests.oracle import drive as driver
from tests.oracle import story as stories
from tests.oracle.drive import INPUTS, drive
from tests.oracle.model import decide, fits
from tests.oracle.story import Disagreement
from tests.oracle.world import Asked, Capability, Consumer, Registration, Stance, Verdict, World

# Said by doors and routers, of calls that take time, or not yet: not met by calls made one after the other.
NEVER_HERE = (
    *(ErrorCode.SURFACE_UNREACHABLE, ErrorCode.TIMEOUT, ErrorCode.CANCELLED, ErrorCode.HANDOFF_REQUIRED),
    *(ErrorCode(row.code) for row in MATRIX.values() if row.later.get("code")),
)
# What a few thousand random steps must have met, so that agreeing on them means something.
MET = (
    "OK",
    *(code.value for code in ErrorCode if code not in NEVER_HERE),
    *("look", "mount", "unmount", "enable", "push", "invalidate", "policy", "state", "suspend", "reinstate"),
    *("channel", "approve", "deny", "withdraw", "lift", "wait"),
)


@pytest.mark.requirement("oracle-agrees")
async def test_product_and_model_agree_on_random_surfaces(
    seed: int, steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\noracle: seed {seed}, {steps} steps (again: --seed {seed})")
    seen = await drive(seed, steps)
    assert seen["call"] > steps / 3


async def test_the_random_steps_meet_every_answer_of_a_surface() -> None:
    seen = await drive(1, 2_000)
    assert [name for name in MET if not seen[name]] == []


async def test_a_seed_tells_the_same_story_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: object) -> Verdict:
        verdict = decide(*given)  # type: ignore[arg-type]
        return dataclasses.replace(verdict, detail="wrong") if verdict.code is ErrorCode.STALE_CAPABILITY else verdict

    monkeypatch.setattr(stories, "decide", wrong)
    told = []
    for _ in range(2):
        with pytest.raises(Disagreement) as raised:
            await drive(5, 2_000)
        told.append(str(raised.value))
    assert told[0] == told[1]
    first, *_, model, product = told[0].splitlines()
    assert first.startswith("seed 5, story ")
    assert "STALE_CAPABILITY" in model and "'wrong'" in model and "STALE_CAPABILITY" in product
    for word in ("surface ", "consumer ", "mount ", "call ", ">>> what is said beforehand"):
        assert word in told[0]
    assert "reg_" not in told[0].replace("reg_x", "")


def test_the_inputs_are_what_they_are_said_to_be() -> None:
    assert {form for *_, form in INPUTS} == {True, False}
    assert {n for _, n, *_ in INPUTS} == {0, 1, 2, None}
    assert driver.MADE_UP and not any(fits(("view:lab.**", "domain:lab.*"), each) for each in ("nonsense", ""))


@pytest.mark.requirement("oracle-says-why")
def test_the_first_step_that_refuses_answers() -> None:
    """A call with everything wrong, put right one thing at a time: the model's own order of steps."""
    wipe = Capability("view:t.wipe", Kind.ACTION, Effect.LOCAL_STATE, Confirmation.REQUIRED, policies=("p",))
    place = Registration("reg", "t", "a", (wipe,), enabled=False, preconditions={wipe.id: "not now"})
    world = World("srf", {}, None, (), True, 2, 3, live=[place], versions={"me": 0})
    stances = world.stances
    stances["p", wipe.id] = Stance(discover="hide", authorize="deny", review="deny")
    me = Consumer("me", "test", None)
    asked = Asked(wipe.id, "[1]", None, form=False, surface="old", registration="older", evidence="none")
    answers = []

    def ask(**changed: object) -> None:
        nonlocal asked
        asked = dataclasses.replace(asked, **changed)  # type: ignore[arg-type]
        verdict = decide(world, me, asked)
        answers.append((verdict.step, verdict.code, verdict.detail))

    ask()
    ask(form=True)
    stances["p", wipe.id] = Stance(authorize="deny", review="deny")
    ask()
    ask(surface="srf")
    ask(registration="reg")
    place.enabled = True
    ask()
    stances["p", wipe.id] = Stance(review="deny")
    ask()
    ask(n=1)
    stances.clear()
    ask()
    place.preconditions.clear()
    ask()
    ask(evidence=None)
    assert answers == [
        (1, ErrorCode.INVALID_INPUT, ()),
        (3, ErrorCode.CAPABILITY_NOT_FOUND, None),
        (4, ErrorCode.STALE_CAPABILITY, "surface-reloaded"),
        (4, ErrorCode.STALE_CAPABILITY, "registration-replaced"),
        (5, ErrorCode.CAPABILITY_NOT_AVAILABLE, "This part of the view is disabled"),
        (6, ErrorCode.NOT_AUTHORIZED, "p denies"),
        (7, ErrorCode.INVALID_INPUT, ()),
        (9, ErrorCode.NOT_AUTHORIZED, "p denies"),
        (10, ErrorCode.PRECONDITION_FAILED, "not now"),
        (11, ErrorCode.CONFIRMATION_INVALID, "mismatch"),
        (11, ErrorCode.CONFIRMATION_REQUIRED, "new"),
    ]


@pytest.mark.parametrize(
    ("pattern", "capability", "fit"),
    [
        ("view:**", "view:a.b", True),
        ("view:**", "domain:a.b", False),
        ("view:a.*", "view:a.b", True),
        ("view:a.*", "view:a.b.c", False),
        ("view:a.**", "view:a.b.c", True),
        ("view:a.b.**", "view:a.b", False),
        ("domain:a.b", "domain:a.b", True),
        ("domain:a.b", "domain:a.bc", False),
        ("region:a.b/**", "view:a.b", False),
    ],
)
def test_the_models_patterns_match_whole_segments(pattern: str, capability: str, fit: bool) -> None:
    assert fits((pattern,), capability) is fit
