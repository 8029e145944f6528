"""What the small applications have in common: the kinds of things they keep, and where their documents are written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DOCUMENTS: Final = Path(__file__).parent / "documents"
KINDS: Final = tuple(
    "bins bolts boxes cables carts chairs crates desks drills dyes fans files forks glues hoses keys lamps lids nails"
    " nets pads pipes pumps racks rods ropes saws seals tiles wires".split()
)


def write_document(name: str, document: Mapping[str, object]) -> None:
    """Write `documents/<name>.json`, one line a key, as it came from the generator."""
    DOCUMENTS.joinpath(f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
