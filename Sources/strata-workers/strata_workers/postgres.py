"""Runs a job over a column of a PostgreSQL table, in batches that are one transaction each."""

import json
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from typing import Any, NamedTuple, cast

import psycopg
from psycopg import errors, sql

from .manifest import Job, Record, RunError, UsageError, checksum, models, record, rejected
from .manifest import same_run
from .metrics import Report, Usage
from .protocol import Operation, Outcome, Request
from .worker import Worker, WorkerError

_PIECE = 8 << 20
_DEATHS = 20
_COUNTS = [o.word for o in Outcome]
_TABLES = f"""
CREATE TABLE IF NOT EXISTS strata_runs (
  run text PRIMARY KEY, operation text NOT NULL, source text NOT NULL, models text NOT NULL,
  greeting jsonb NOT NULL, last_key text, started timestamptz NOT NULL DEFAULT now(),
  finished timestamptz);
CREATE TABLE IF NOT EXISTS strata_batches (
  run text, number bigint, low text, high text, state text NOT NULL DEFAULT 'open',
  rows bigint NOT NULL, done bigint, bytes_read bigint, bytes_written bigint, seconds float8,
  {", ".join(f"{word} integer NOT NULL DEFAULT 0" for word in _COUNTS)},
  PRIMARY KEY (run, number)) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS strata_records (
  run text, key text, outcome text NOT NULL, type text NOT NULL, version_from bigint,
  version_to bigint, before text NOT NULL, after text NOT NULL, code text NOT NULL,
  message text NOT NULL, PRIMARY KEY (run, key));
"""
# One pass over the index of the key. A batch ends before the first key of the next one, so that it
# also has rows that are inserted between its keys.
_PLAN = """
INSERT INTO strata_batches (run, number, low, high, rows)
SELECT %(run)s, n, CASE WHEN n > 0 THEN low END, lead(low) OVER numbers,
  coalesce(lead(first) OVER numbers, last + 1) - first
FROM (SELECT (i - 1) / %(batch)s AS n, (array_agg(k::text ORDER BY i))[1] AS low, min(i) AS first,
    max(i) AS last
  FROM (SELECT {key} AS k, row_number() OVER keys AS i, lead(true) OVER keys IS NULL AS final
    FROM {table} WINDOW keys AS (ORDER BY {key})) numbered
  WHERE (i - 1) %% %(batch)s = 0 OR final GROUP BY 1) lows
WINDOW numbers AS (ORDER BY n)"""
_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull AND EXISTS (
  SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND indisunique AND indpred IS NULL
  AND indnkeyatts = 1 AND indkey[0] = attnum)
FROM pg_attribute a WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_ARCHIVES = " FROM {table} t WHERE t.{column} IS NOT NULL"
_TRANSIENT = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)


@dataclass(frozen=True)
class Table:
    """The table of a job. `others` are the columns with the other sides of a merge.

    `patience` is the time in seconds for which a worker tries to reconnect.
    """

    dsn: str
    name: str
    key: str
    column: str
    others: tuple[str, ...] = ()
    batch: int = 1000
    patience: float = 60.0

    @property
    def source(self) -> str:
        """The table and its columns in the list of runs."""
        return f"{self.name}({', '.join([self.key, self.column, *self.others])})"

    def sql(self, text: str, key_type: str = "text") -> sql.Composed:
        """Returns SQL with the names of the table and its columns."""
        return sql.SQL(cast(Any, text)).format(
            table=sql.Identifier(*self.name.split(".")),
            key=sql.Identifier(self.key),
            column=sql.Identifier(self.column),
            others=sql.SQL("").join(sql.SQL(", t.") + sql.Identifier(o) for o in self.others),
            type=sql.SQL(cast(Any, key_type)),
        )

    def key_type(self, db: psycopg.Connection[Any]) -> str:
        """Returns the type of the key.

        Raises: `UsageError` if the table or a column does not exist, the column with the archives
        is not `bytea`, or the key is not unique.
        """
        name = self.sql("{table}").as_string(db)
        columns = {row[0]: row[1:] for row in db.execute(_COLUMNS, (name,))}
        if not columns:
            raise UsageError(f"the table {self.name} does not exist")
        for column in (self.key, self.column, *self.others):
            if column not in columns:
                raise UsageError(f"the table {self.name} has no column {column}")
        if columns[self.column][0] != "bytea":
            kind = columns[self.column][0]
            raise UsageError(f"the column {self.column} has the type {kind}; archives need bytea")
        if not columns[self.key][1]:
            raise UsageError(f"the key {self.key} must be NOT NULL and have a unique index")
        return str(columns[self.key][0])


class Span(NamedTuple):
    """The keys from `low` to `high`. The first batch has no `low`."""

    low: str | None
    high: str
    inclusive: bool


class Session:
    """A connection of a worker process, which handles batches of a run."""

    def __init__(self, table: Table, job: Job, run: str) -> None:
        self.table, self.job, self.run, self._number = table, job, run, -1
        self.db = psycopg.connect(table.dsn, application_name=f"strata-workers {run}")
        # A lost commit loses a whole batch, which a repeat does. The commit of the end is not lost.
        self.db.execute("SET synchronous_commit = off")
        self.db.execute("SET lock_timeout = '60s'")
        temporary = "CREATE TEMP TABLE strata_new (key text, data bytea) ON COMMIT DELETE ROWS"
        self.db.execute(temporary)
        self.key_type = table.key_type(self.db)
        self.db.commit()

    def step(self, worker: Worker) -> tuple[Usage, list[Record]] | None:
        """Handles one open batch in one transaction. Returns None if no batch is open."""
        query = """SELECT number, low, coalesce(high, last_key), high IS NULL
            FROM strata_batches b JOIN strata_runs r USING (run)
            WHERE run = %s AND state = 'open' AND number > %s
            ORDER BY number LIMIT 1 FOR UPDATE OF b SKIP LOCKED"""
        while (row := self.db.execute(query, (self.run, self._number)).fetchone()) is None:
            unfinished = "SELECT 1 FROM strata_batches WHERE run = %s AND state = 'open' LIMIT 1"
            is_open = _value(self.db, unfinished, self.run)
            self.db.rollback()
            if not is_open:
                return None
            if self._number < 0:  # Another session has locked the open batches, and may yet fail.
                time.sleep(0.5)
            self._number = -1
        self._number, *span = row
        usage, records = self.batch(worker, Span(*span))
        self.save(self._number, usage, records)
        self.db.commit()
        return usage, records

    def batch(self, worker: Worker, span: Span) -> tuple[Usage, list[Record]]:
        """Handles the rows of some keys, without a commit."""
        began, cpu, restarts = time.monotonic(), worker.cpu_seconds, worker.restarts
        usage, records = Usage(), list[Record]()
        lengths = "SELECT t.{key}::text, octet_length(t.{column})" + _ARCHIVES
        lock = "" if self.job.operation is Operation.VERIFY else " FOR NO KEY UPDATE"
        keys = self._execute(lengths, span, " ORDER BY t.{key}" + lock).fetchall()
        written = 0
        for rows in self._pieces(keys, records):
            requests = (self._request(n, row[1:]) for n, row in enumerate(rows))
            with self.db.cursor() as cursor:
                with cursor.copy("COPY strata_new FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(["text", "bytea"])
                    for (key, data, *_), answer in zip(rows, worker.run(requests)):
                        records.append(record(key, answer, checksum(data)))
                        usage.bytes_read += len(data)
                        if answer.archive is not None and not answer.failed:
                            copy.write_row((key, answer.archive))
                            usage.bytes_written += len(answer.archive)
                            written += 1
        if written:
            update = """UPDATE {table} t SET {column} = n.data FROM strata_new n
                WHERE t.{key} = n.key::{type}"""
            if (changed := self._execute(update, span).rowcount) != written:
                raise RunError(
                    f"PostgreSQL updated {changed} of {written} rows; a trigger, a rule or a policy"
                    f" of the table {self.table.name} keeps the others unchanged"
                )
        for one in records:
            usage.counts[one.outcome] += 1
        usage.seconds = time.monotonic() - began
        usage.cpu, usage.restarts = worker.cpu_seconds - cpu, worker.restarts - restarts
        return usage, records

    def save(self, number: int, usage: Usage, records: list[Record]) -> None:
        """Writes the records of a batch and marks it as done, without a commit."""
        with self.db.cursor() as cursor:
            with cursor.copy("COPY strata_records FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["text"] * 4 + ["int8", "int8"] + ["text"] * 4)
                for one in records:
                    copy.write_row((self.run, *one))
        counts = [usage.counts[word] for word in _COUNTS]
        numbers = (usage.records, usage.bytes_read, usage.bytes_written, usage.seconds, *counts)
        query = f"""UPDATE strata_batches SET state = 'done', (done, bytes_read, bytes_written,
            seconds, {", ".join(_COUNTS)}) = ROW({", ".join(["%s"] * len(numbers))})
            WHERE run = %s AND number = %s"""
        self.db.execute(query.encode(), (*numbers, self.run, number))

    def _request(self, number: int, columns: tuple[Any, ...]) -> Request:
        parts = (part for part in columns if part is not None)
        return Request(number, self.job.operation, (*parts, *self.job.suffix))

    def _execute(self, text: str, span: Span, end: str = "") -> psycopg.Cursor[Any]:
        below = " AND t.{key} <= %s::{type}" if span.inclusive else " AND t.{key} < %s::{type}"
        above = "" if span.low is None else " AND t.{key} >= %s::{type}"
        query = self.table.sql(text + below + above + end, self.key_type)
        bounds = [bound for bound in (span.high, span.low) if bound is not None]
        return self.db.execute(query, bounds, binary=True)

    def _pieces(
        self, keys: list[tuple[str, int]], records: list[Record]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Fetches the rows in pieces, so that memory holds 8 MiB of them or one longer row."""
        rows = "SELECT t.{key}::text, t.{column}{others}" + _ARCHIVES
        piece: dict[str, int] = {}
        size = 0
        for key, length in [*keys, ("", sys.maxsize)]:
            if piece and (size + length > _PIECE or length > self.job.max_frame):
                first, last = next(iter(piece)), next(reversed(piece))
                # A row that was inserted after the keys were read is not locked.
                found = self._execute(rows, Span(first, last, True)).fetchall()
                yield [row for row in found if row[0] in piece]
                piece, size = {}, 0
            if self.job.max_frame < length < sys.maxsize:
                message = f"the archive has {length:,} bytes; raise --max-frame"
                records.append(rejected(key, Outcome.UNSUPPORTED, "limitExceeded", message))
            else:
                piece[key] = length
                size += length


def _value(db: psycopg.Connection[Any], query: str | sql.Composed, *values: object) -> Any:
    """Returns the first column of the first row, or None."""
    text = query.encode() if isinstance(query, str) else query
    row = db.execute(text, values or None).fetchone()
    return row[0] if row else None


def begin(table: Table, job: Job, run: str | None, greeting: dict[str, Any]) -> str:
    """Begins a run or continues it, and returns its name.

    Without a name, the last unfinished run of the same operation and table is continued.
    """
    arguments = (job.operation.name.lower(), table.source, models(greeting))
    with psycopg.connect(table.dsn) as db:
        db.execute("SELECT pg_advisory_xact_lock(hashtext('strata_runs'))")
        db.execute("SET client_min_messages = warning")
        db.execute(_TABLES.encode())
        table.key_type(db)
        if run is None:
            query = """SELECT run FROM strata_runs WHERE finished IS NULL AND operation = %s
                AND source = %s ORDER BY started DESC LIMIT 1"""
            run = _value(db, query, *arguments[:2]) or f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
        query = "SELECT operation, source, models FROM strata_runs WHERE run = %s"
        if saved := db.execute(query, (run,)).fetchone():
            same_run(run, saved, arguments)
            return run
        new = """INSERT INTO strata_runs (run, operation, source, models, greeting, last_key)
            SELECT %s, %s, %s, %s, %s, (SELECT {key}::text FROM {table} ORDER BY {table}.{key} DESC
            LIMIT 1)"""
        db.execute(table.sql(new), (run, *arguments, json.dumps(greeting)))
        db.execute(table.sql(_PLAN), {"run": run, "batch": table.batch})
    return run


def _work(table: Table, job: Job, run: str, pipe: Pipe) -> None:
    """Handles batches in a process of its own, until none is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent process ends this one.
    try:
        with job.worker() as worker:
            _work_with(worker, table, job, run, pipe)
        own, tool = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        memory = {"memory_mb": own.ru_maxrss // 1024, "tool_memory_mb": tool.ru_maxrss // 1024}
        pipe.send(("log", ("worker", {**memory, "cpu": round(time.process_time(), 2)})))
    except (RunError, UsageError, WorkerError) as error:
        pipe.send(("error", str(error)))
    except BrokenPipeError:
        pass  # The parent process has ended.
    except errors.DiskFull as error:
        pipe.send(("error", f"the disk of the server is full ({_line(error)}); free some space"))
    except psycopg.Error as error:
        pipe.send(("error", f"PostgreSQL: {_line(error)}"))


def _work_with(worker: Worker, table: Table, job: Job, run: str, pipe: Pipe) -> None:
    failed_since, pause = None, 0.25
    session = None
    while True:
        try:
            session = session or Session(table, job, run)
            if (result := session.step(worker)) is None:
                return
            failed_since, pause = None, 0.25
            pipe.send(("batch", (result[0], [r for r in result[1] if r.failed][:10])))
        except psycopg.Error as error:
            is_lost = session is None or session.db.closed
            if not is_lost and not isinstance(error, _TRANSIENT):
                raise
            failed_since = failed_since or time.monotonic()
            if time.monotonic() - failed_since > table.patience:
                problem = f"no batch has succeeded for {table.patience:g} s"
                raise RunError(f"PostgreSQL: {problem}: {_line(error)}") from error
            pipe.send(("log", ("reconnecting", {"pause": pause, "message": _line(error)})))
            if session:
                session.db.close()
            session = None
            time.sleep(pause)
            pause = min(pause * 2, 5)


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def run_table(
    table: Table, job: Job, report: Report, run: str | None
) -> tuple[dict[str, int], int]:
    """Runs a job over a table with a process for each worker.

    Returns the number of records with each outcome, and the number of rows without a record.

    Raises: `RunError`, `UsageError`, `WorkerError`, or an error of psycopg.
    """
    with job.worker() as worker:
        run = begin(table, job, run, worker.greeting)
    where = " FROM strata_batches WHERE run = %s"
    with psycopg.connect(table.dsn) as db:
        total = _value(db, "SELECT coalesce(sum(rows), 0)::int8" + where, run)
        done = _value(db, "SELECT coalesce(sum(done), 0)::int8" + where, run)
    report.begin(run, job.operation.name.lower(), total, done, job.workers)
    _supervise(table, job, report, run)
    with psycopg.connect(table.dsn) as db:
        sums = ", ".join(f"coalesce(sum({word}), 0)::int8" for word in _COUNTS)
        numbers = _value(db, f"SELECT ARRAY[{sums}]" + where, run)
        query = "SELECT count(*)" + _ARCHIVES + """ AND NOT EXISTS (
            SELECT FROM strata_records r WHERE r.run = %s AND r.key = t.{key}::text)"""
        uncovered = _value(db, table.sql(query), run)
        query = "UPDATE strata_runs SET finished = now() WHERE run = %s AND finished IS NULL"
        db.execute(query, (run,))
    return {word: n for word, n in zip(_COUNTS, numbers) if n}, uncovered


def _supervise(table: Table, job: Job, report: Report, run: str) -> None:
    context = multiprocessing.get_context("spawn")
    processes: dict[Pipe, Any] = {}
    deaths = 0

    def start() -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(table, job, run, theirs), daemon=True)
        process.start()
        theirs.close()
        processes[ours] = process

    try:
        for _ in range(job.workers):
            start()
        while processes:
            for pipe in cast(list[Pipe], wait(list(processes))):
                try:
                    kind, content = pipe.recv()
                except (EOFError, OSError):
                    process = processes.pop(pipe)
                    process.join()
                    if process.exitcode:
                        deaths += 1
                        report.log("died", exit=process.exitcode, message="a worker process ended")
                        if deaths > _DEATHS:
                            raise RunError("too many worker processes ended") from None
                        start()
                    continue
                if kind == "error":
                    raise RunError(content)
                if kind == "log":
                    report.log(content[0], **content[1])
                else:
                    report.add(content[0])
                    for one in content[1]:
                        report.reject(one.key, one.outcome, one.message)
    finally:
        for process in processes.values():
            process.terminate()
            process.join()


def sample_table(table: Table, job: Job, size: int) -> tuple[Usage, int]:
    """Runs the job on random rows and rolls back. Returns their usage, and the number of all."""
    usage, ranges = Usage(), 10
    lows = """SELECT {key}::text FROM (SELECT {key} FROM {table} TABLESAMPLE SYSTEM (%s)) sampled
        ORDER BY random() LIMIT %s"""
    high = """SELECT {key}::text FROM (SELECT {key} FROM {table} WHERE {key} >= %s::{type}
        ORDER BY {key} LIMIT %s) following ORDER BY following.{key} DESC LIMIT 1"""
    with job.worker() as worker:
        session = Session(table, job, "dry run")
        db, name = session.db, table.sql("{table}").as_string(session.db)
        total = _value(db, "SELECT reltuples::int8 FROM pg_class WHERE oid = to_regclass(%s)", name)
        if total < 1_000_000:  # The estimate is exact enough for larger tables only.
            total = _value(db, table.sql("SELECT count(*) FROM {table}"))
        share = min(100.0, 100 * max(20 * size, 10_000) / max(total, 1))
        for (low,) in db.execute(table.sql(lows), (share, ranges)).fetchall():
            last = _value(db, table.sql(high, session.key_type), low, max(1, size // ranges))
            db.execute("SET client_min_messages = warning")
            db.execute(_TABLES.encode())
            began = time.monotonic()
            part, records = session.batch(worker, Span(low, last, True))
            session.save(-1, part, records)
            part.seconds = time.monotonic() - began
            db.rollback()
            usage.add(part)
        db.close()
    return usage, total
