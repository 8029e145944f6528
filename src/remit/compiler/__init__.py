"""From source to contract: reads a project twice, statically and by importing it, and records what both agree on."""

from remit.compiler.application import compile_app
from remit.compiler.backends import Backend, Offered
from remit.compiler.base import manifest_at
from remit.compiler.compile import Compiled, compile_project, write_contract
from remit.compiler.drift import Change, Drifted, drift
from remit.compiler.project import Project, find_root, read_project
from remit.compiler.weigh import Drift

__all__ = [
    "Backend",
    "Change",
    "Compiled",
    "Drift",
    "Drifted",
    "Offered",
    "Project",
    "compile_app",
    "compile_project",
    "drift",
    "find_root",
    "manifest_at",
    "read_project",
    "write_contract",
]
