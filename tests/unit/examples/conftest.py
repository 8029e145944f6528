"""The devices example is a project of its own: its modules are imported from its folder, as its own command does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "devices"))
