"""A PostgreSQL of the tests' own: made in a folder, on a socket in it, and ended with them."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import psycopg
import pytest


def program(name: str) -> str | None:
    """Where a program of the server is: on the path, or where Debian puts it."""
    found = shutil.which(name) or next(iter(sorted(glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None)
    return None if found is None else str(Path(found).resolve())


class Server:
    """One server, reached by a socket, so that no port is taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._as = _account()
        self._made = 0
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "remit", "-E", "UTF8", "--no-sync")

    @property
    def conninfo(self) -> str:
        """How it is reached."""
        return f"host={self.folder} user=remit dbname=postgres"

    def fresh(self) -> str:
        """How a new, empty database is reached."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            self._made += 1
            connection.execute(f"CREATE DATABASE t{self._made}".encode())
        return self.conninfo.replace("dbname=postgres", f"dbname=t{self._made}")

    def start(self) -> None:
        """Begin, and return when it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=50"
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", str(self.folder / "log"), "-w", "start"
        )

    def stop(self) -> None:
        """End at once: connections break."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def _run(self, name: str, *arguments: str) -> None:
        found = program(name)
        assert found is not None
        done = subprocess.run(
            [found, *arguments], user=self._as, capture_output=True, text=True, timeout=120, check=False, cwd="/"
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _account() -> int | None:
    """The server refuses to run as an administrator; an account of less is taken then."""
    if os.geteuid() != 0:
        return None
    return pwd.getpwnam("nobody").pw_uid


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that runs, one a worker; what a test stops, it starts."""
    if program("initdb") is None:
        assert not os.environ.get("CI"), "no PostgreSQL here, and in CI a skip would pass for an answer"
        pytest.skip("no PostgreSQL here; scripts/setup installs one")
    with serving() as server:
        yield server


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs; its folder goes with it."""
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        account = _account()
        if account is not None:
            os.chown(folder, account, -1)
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
