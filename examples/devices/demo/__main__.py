"""The command: `python -m examples.devices.demo`, or `python -m demo` in the example's own folder."""

import sys
from pathlib import Path

# The example is a project of its own: its modules are imported from its folder, wherever the command is given.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.command import main

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
