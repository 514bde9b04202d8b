"""The job of a run, and the manifest with one record for each archive."""

import json
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from .protocol import FAILURES, Answer, Operation, Outcome, Part, Range, Request, refusal
from .worker import Worker, worker_command

_TABLES = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, operation TEXT, source TEXT, models TEXT,
  started TEXT DEFAULT CURRENT_TIMESTAMP, finished TEXT);
CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, outcome TEXT, type TEXT,
  version_from INTEGER, version_to INTEGER, before TEXT, after TEXT, code TEXT, message TEXT)
  WITHOUT ROWID;
"""


class RunError(Exception):
    """A run cannot begin or continue. Finished records are kept, and a repeat does the others."""


class UsageError(Exception):
    """The arguments of a run contradict each other."""


Sides = Sequence[bytes | memoryview | None]


class Item(NamedTuple):
    """An archive of a run, its checksum, and the parts of its request.

    The driver answers with `refusal` itself. `output` is the path of the new archive in a folder.
    """

    key: str
    data: bytes | memoryview | None
    before: str = ""
    parts: tuple[Part, ...] = ()
    refusal: Answer | None = None
    output: str = ""


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
        return self.outcome in FAILURES


@dataclass(slots=True, frozen=True)
class Job:
    """The operation of a run, and its tool.

    All workers of a run have the same `greeting`. `others` are the
    folders or columns with the server's and the base archives of a merge.
    """

    operation: Operation
    tool: str
    workers: int = 1
    options: tuple[str, ...] = ()
    model: str | None = None
    max_frame: int = 64 << 20
    timeout: float = 60.0
    others: tuple[str, ...] = ()
    greeting: dict[str, Any] | None = None

    def worker(self) -> Worker:
        """Returns a worker of the job's tool, not yet started."""
        command, frame = worker_command(self.tool, self.max_frame, self.options), self.max_frame
        return Worker(command, max_frame=frame, timeout=self.timeout, greeting=self.greeting)

    def item(self, key: Any, sides: Sides, member: Range | None = None, output: str = "") -> Item:
        """Returns an archive with the other sides of a merge, of which the base may be missing.

        The worker reads the range of a `member` of a stream itself.
        """
        data = sides[0]
        before = "" if data is None else checksum(data)
        if None in sides[: 2 if self.operation is Operation.MERGE else 1]:
            answer = refusal(Outcome.INVALID, "a column of this row is null", "missing")
            return Item(key, data, before, (), answer)
        parts = [part for part in (member or data, *sides[1:]) if part is not None]
        parts += [self.model.encode()] if self.model else []
        return Item(key, data, before, tuple(parts), None, output)

    def run(self, worker: Worker, items: Iterable[Item]) -> Iterator[tuple[Item, Answer, Record]]:
        """Sends archives to a worker and yields each one with its answer and its record."""
        waiting = deque[Item]()

        def requests() -> Iterator[Request | Answer]:
            for item in items:
                waiting.append(item)
                number = next(worker.numbers)
                yield item.refusal or Request(number, self.operation, item.parts)

        for answer in worker.run(requests()):
            item = waiting.popleft()
            yield item, answer, record(item.key, answer, item.before)


def checksum(data: bytes | memoryview) -> str:
    """Returns the checksum of an archive in a manifest."""
    return blake2b(data, digest_size=16).hexdigest()


def record(key: str, answer: Answer, before: str) -> Record:
    """Returns the record of an answer. The bytes of a current archive do not change."""
    after = before.partition("+")[0] if answer.outcome is Outcome.CURRENT else ""
    if answer.archive is not None:
        after = checksum(answer.archive)
    code, message = (_stored(answer.code), _stored(answer.message)) if answer.details else ("", "")
    return Record(key, answer.outcome.word, _stored(answer.type_name), answer.version_from,
                  answer.version_to, before, after, code, message)  # fmt: skip


def _stored(raw: str) -> str:
    """Neither PostgreSQL nor SQLite has texts with NUL or half a pair of surrogates."""
    return raw if raw.isprintable() else raw.replace("\0", "\\0").encode(errors="replace").decode()


def models(greeting: Mapping[str, Any]) -> str:
    """Returns the versions of a tool's models. All workers of a run must have the same ones."""
    return json.dumps(greeting.get("models", []), sort_keys=True)


def same_run(run: str, before: tuple[str, ...], now: tuple[str, ...]) -> None:
    """Checks that a repeated run has the operation, the source and the models of the first one."""
    for name, old, new in zip(("operation", "source", "models"), before, now):
        if old != new:
            text = f"run {run} began with the {name} {old}, and this command has {new}. Repeat it"
            raise RunError(f"{text} with the same ones, or begin another run with --run.")


class Manifest:
    """The manifest of a folder, a SQLite file. One process at a time can open it.

    Raises: `RunError` if another process has it open, or its run has other arguments.
    """

    def __init__(self, path: str, run: str, *arguments: str) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=0.5)
        try:
            self._db.executescript(_TABLES)
            new = "INSERT OR IGNORE INTO runs (run, operation, source, models) VALUES (?, ?, ?, ?)"
            self._db.execute(new, (run, *arguments))
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
            new = "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            self._db.executemany(new, records)

    def finish(self) -> dict[str, int]:
        """Notes that all archives were handled. Returns the number of each outcome."""
        with self._db:
            self._db.execute("UPDATE runs SET finished = CURRENT_TIMESTAMP")
        return dict(self._db.execute("SELECT outcome, count(*) FROM records GROUP BY outcome"))

    def close(self) -> None:
        """Closes the file."""
        self._db.close()
