"""From source to contract: reads a project twice, statically and by importing it, and records what both agree on."""

from remit.compiler.application import compile_app
from remit.compiler.compile import Compiled, compile_project, write_contract
from remit.compiler.project import Project, find_root, read_project

__all__ = [
    "Compiled",
    "Project",
    "compile_app",
    "compile_project",
    "find_root",
    "read_project",
    "write_contract",
]
