"""The backend's OpenAPI document: `python -m backend.document FILE` writes it, and the console's catalogue reads it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from backend.app import create_app


def document() -> dict[str, Any]:
    """What the backend offers, as FastAPI tells it; neither a database nor an account is needed for that."""
    return create_app(Path(), {}).openapi()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
