"""The job of a run, and the manifest with one record for each archive."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from .protocol import Answer, Operation, Outcome
from .worker import Worker, worker_command


class RunError(Exception):
    """A run cannot begin or continue. Finished records are kept, and a repeat does the others."""


class UsageError(Exception):
    """The arguments of a run contradict each other."""


@dataclass(slots=True, frozen=True)
class Job:
    """The operation of a run and its tool."""

    operation: Operation
    tool: str
    workers: int = 1
    options: tuple[str, ...] = ()
    model: str | None = None
    max_frame: int = 64 << 20
    timeout: float = 60.0

    def worker(self) -> Worker:
        """Returns a worker of the job's tool, not yet started."""
        command = worker_command(self.tool, self.max_frame, self.options)
        return Worker(command, max_frame=self.max_frame, timeout=self.timeout)

    @property
    def suffix(self) -> tuple[bytes, ...]:
        """The part of a request that names the model of JSON documents."""
        return (self.model.encode(),) if self.model else ()


class Record(NamedTuple):
    """What a run did to one archive. Checksums are BLAKE2b with 16 bytes, in hexadecimal."""

    key: str
    outcome: str
    type: str
    version_from: int | None
    version_to: int | None
    before: str
    after: str
    code: str
    message: str

    @property
    def failed(self) -> bool:
        """Whether the archive was rejected."""
        return Outcome[self.outcome.upper()] >= Outcome.DAMAGED


def checksum(data: bytes | memoryview) -> str:
    """Returns the checksum of an archive in a manifest."""
    return blake2b(data, digest_size=16).hexdigest()


def record(key: str, answer: Answer, before: str) -> Record:
    """Returns the record of an answer. The bytes of a current archive do not change."""
    after = checksum(answer.archive) if answer.archive is not None and not answer.failed else ""
    if answer.outcome is Outcome.CURRENT:
        after = before
    versions = answer.version_from, answer.version_to
    # Neither PostgreSQL nor SQLite has texts with NUL or half a pair of surrogates.
    texts = (t.replace("\0", "\\0") for t in (answer.code, answer.message))
    texts = (t.encode(errors="replace").decode() for t in texts)
    return Record(key, answer.outcome.word, answer.type_name, *versions, before, after, *texts)


def rejected(key: str, outcome: Outcome, code: str, message: str, before: str = "") -> Record:
    """Returns the record of an archive that the driver rejects without a worker."""
    return Record(key, outcome.word, "", None, None, before, "", code, message)


def models(greeting: Mapping[str, Any]) -> str:
    """Returns the versions of a tool's models. All workers of a run must have the same ones."""
    return json.dumps(greeting.get("models", []), sort_keys=True)


def same_run(run: str, before: tuple[str, ...], now: tuple[str, ...]) -> None:
    """Checks that a repeated run has the operation, the source and the models of the first one."""
    for name, old, new in zip(("operation", "source", "models"), before, now):
        if old != new:
            raise RunError(
                f"run {run} began with the {name} {old}, and this command has {new}."
                " Repeat it with the same ones, or begin another run with --run."
            )


class Manifest:
    """The manifest of a folder, a SQLite file. One process at a time can open it.

    Raises: `RunError` if another process has it open, or its run has other arguments.
    """

    def __init__(self, path: str, run: str, *arguments: str) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=0.5)
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(
                "CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, operation TEXT, source"
                " TEXT, models TEXT, started TEXT DEFAULT CURRENT_TIMESTAMP, finished TEXT);"
                "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, outcome TEXT, type TEXT,"
                " version_from INTEGER, version_to INTEGER, before TEXT, after TEXT, code TEXT,"
                " message TEXT) WITHOUT ROWID;"
            )
            new = "INSERT OR IGNORE INTO runs (run, operation, source, models) VALUES (?, ?, ?, ?)"
            self.is_new = self._db.execute(new, (run, *arguments)).rowcount == 1
            self._db.commit()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise RunError(f"another process is writing the manifest {path}") from error
        saved = self._db.execute("SELECT operation, source, models FROM runs WHERE run = ?", (run,))
        same_run(run, saved.fetchone(), arguments)

    def find(self, key: str) -> Record | None:
        """Returns the record of a key."""
        with self._lock:
            row = self._db.execute("SELECT * FROM records WHERE key = ?", (key,)).fetchone()
        return Record(*row) if row else None

    def add(self, records: Iterable[Record]) -> None:
        """Writes records and commits them. A record replaces an earlier one with its key."""
        with self._lock, self._db:
            places = ", ".join("?" * len(Record._fields))
            self._db.executemany(f"INSERT OR REPLACE INTO records VALUES ({places})", records)

    def counts(self) -> dict[str, int]:
        """Returns the number of records with each outcome."""
        return dict(self._db.execute("SELECT outcome, count(*) FROM records GROUP BY outcome"))

    def close(self, finished: bool = False) -> None:
        """Closes the file. `finished` states that every record of the source was handled."""
        if finished:
            with self._db:
                self._db.execute("UPDATE runs SET finished = CURRENT_TIMESTAMP")
        self._db.close()
