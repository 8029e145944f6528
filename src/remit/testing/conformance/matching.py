"""What a case expects, held against what came: references into earlier answers, and matching in part."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

ANSWER: Final = "$answer"
ABSENT: Final = {"$absent": True}
ANY: Final = {"$any": True}


def filled(value: Any, answers: Sequence[Any]) -> Any:
    """The value with every `{"$answer": [step, …path]}` replaced by what stands there; LookupError if nothing does."""
    if isinstance(value, Mapping):
        if set(value) == {ANSWER}:
            return _found(value[ANSWER], answers)
        return {key: filled(each, answers) for key, each in value.items()}
    return [filled(each, answers) for each in value] if isinstance(value, list) else value


def faults(wanted: Any, came: Any, at: str = "") -> list[str]:
    """Where an answer is not what is wanted. Objects match in part, everything else exactly (also `1` and `true`)."""
    if wanted == ANY:
        return []
    if isinstance(wanted, Mapping):
        if not isinstance(came, Mapping):
            return [f"{at or 'it'} is {came!r:.200}, no object"]
        found: list[str] = []
        for key, each in wanted.items():
            place = f"{at}.{key}".lstrip(".")
            if each == ABSENT:
                found += [f"{place} is there"] if key in came else []
            elif key not in came:
                found.append(f"{place} is missing")
            else:
                found += faults(each, came[key], place)
        return found
    if isinstance(wanted, list):
        if not isinstance(came, list) or len(wanted) != len(came):
            return [f"{at} is {came!r:.200}, not {wanted!r:.200}"]
        return [
            each
            for index, pair in enumerate(zip(wanted, came, strict=True))
            for each in faults(*pair, f"{at}[{index}]")
        ]
    return [] if type(wanted) is type(came) and wanted == came else [f"{at} is {came!r:.200}, not {wanted!r:.200}"]


def _found(path: Sequence[Any], answers: Sequence[Any]) -> Any:
    value: Any = answers[path[0]]
    for step in path[1:]:
        if isinstance(step, Mapping):
            value = next((each for each in value if not faults(step, each)), None)
            if value is None:
                raise LookupError(f"nothing in answer {path[0]} is {dict(step)}")
        else:
            value = value[step]
    return value
