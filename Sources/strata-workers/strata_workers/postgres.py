"""Runs a job over a column of a PostgreSQL table, in batches that are one transaction each."""

import json
import multiprocessing
import resource
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, cast

import psycopg
from psycopg import errors, sql

from .manifest import Item, Job, Record, RunError, UsageError, models, same_run
from .metrics import Report, Usage
from .protocol import Operation, Outcome, refusal
from .worker import Worker, WorkerError

Database = psycopg.Connection[Any]
_PIECE = 8 << 20
_DEATHS = 20
_COUNTS = [o.word for o in Outcome]
_TABLES = f"""
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS strata_runs (run text PRIMARY KEY, operation text NOT NULL,
  source text NOT NULL, models text NOT NULL, greeting jsonb NOT NULL, last_key text,
  started timestamptz NOT NULL DEFAULT now(), finished timestamptz);
CREATE TABLE IF NOT EXISTS strata_batches (run text, number bigint, low text, high text,
  state text NOT NULL DEFAULT 'open', rows bigint NOT NULL, done bigint, bytes_read bigint,
  bytes_written bigint, seconds float8,
  {", ".join(f"{word} integer NOT NULL DEFAULT 0" for word in _COUNTS)},
  PRIMARY KEY (run, number)) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS strata_records (run text, key text, outcome text NOT NULL,
  type text NOT NULL, version_from bigint, version_to bigint, before text NOT NULL,
  after text NOT NULL, code text NOT NULL, message text NOT NULL, PRIMARY KEY (run, key))"""
# One pass over the index of the key. A batch ends before the first key of the next one, so that it
# also has rows that are inserted between its keys.
_PLAN = """
INSERT INTO strata_batches (run, number, low, high, rows)
SELECT %(run)s, n, CASE WHEN n > 0 THEN low END, lead(low) OVER numbers,
  coalesce(lead(first) OVER numbers, last + 1) - first
FROM (SELECT (i - 1) / %(batch)s AS n, (array_agg(k::text ORDER BY i))[1] AS low,
    min(i) AS first, max(i) AS last
  FROM (SELECT {key} AS k, row_number() OVER keys AS i, lead(true) OVER keys IS NULL AS final
    FROM {table} WINDOW keys AS (ORDER BY {key})) numbered
  WHERE (i - 1) %% %(batch)s = 0 OR final GROUP BY 1) lows
WINDOW numbers AS (ORDER BY n)"""
_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull AND EXISTS (
  SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND indisunique AND indisvalid
  AND indpred IS NULL AND indnkeyatts = 1 AND indkey[0] = attnum)
FROM pg_attribute a WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_ARCHIVES = " FROM {table} t WHERE t.{column} IS NOT NULL"
_SETTINGS = """SET synchronous_commit = off; SET lock_timeout = '60s';
CREATE TEMP TABLE strata_new (key text, data bytea) ON COMMIT DELETE ROWS"""
_OPEN = "SELECT 1 FROM strata_batches WHERE run = %s AND state = 'open' LIMIT 1"
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

    def sql(self, text: str, key_type: str = "text") -> sql.Composed:
        """Returns SQL with the names of the table and its columns."""
        key, *columns = map(sql.Identifier, (self.key, self.column, *self.others))
        sides = [sql.SQL("t.{}").format(column) for column in columns]
        sizes = [sql.SQL("coalesce(octet_length({})::int8, 0)").format(side) for side in sides]
        names = {"table": sql.Identifier(*self.name.split(".")), "key": key, "column": columns[0]}
        lists = {"sides": sql.SQL(", ").join(sides), "size": sql.SQL(" + ").join(sizes)}
        return sql.SQL(cast(Any, text)).format(**names, **lists, type=sql.SQL(cast(Any, key_type)))

    def key_type(self, db: Database) -> str:
        """Returns the type of the key.

        Raises: `UsageError` if the table or a column does not exist, a column with archives is not
        `bytea`, or the key is not unique.
        """
        table = self.sql("{table}").as_string(db)
        columns = {name: rest for name, *rest in db.execute(_COLUMNS, (table,))}
        if not columns:
            raise UsageError(f"the table {self.name} does not exist")
        for column in (self.key, self.column, *self.others):
            if column not in columns:
                raise UsageError(f"the table {self.name} has no column {column}")
            if (kind := columns[column][0]) != "bytea" and column != self.key:
                raise UsageError(f"the column {column} has the type {kind}; archives need bytea")
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
        self.db.execute(_SETTINGS)
        self.key_type = table.key_type(self.db)
        self.db.commit()

    def step(self, worker: Worker) -> tuple[Usage, list[Record]] | None:
        """Handles one open batch in one transaction. Returns None if no batch is open."""
        query = """SELECT number, low, coalesce(high, last_key), high IS NULL FROM strata_batches b
            JOIN strata_runs r USING (run) WHERE run = %s AND state = 'open' AND number > %s
            ORDER BY number LIMIT 1 FOR UPDATE OF b SKIP LOCKED"""
        while (row := self.db.execute(query, (self.run, self._number)).fetchone()) is None:
            is_open = _value(self.db, _OPEN, self.run)
            self.db.rollback()
            if not is_open:
                return None
            if self._number < 0:  # Another session has locked the open batches, and may yet fail.
                time.sleep(0.5)
            self._number = -1
        self._number, *span = row
        result = self.batch(worker, Span(*span), self._number)
        self.db.commit()
        return result

    def batch(self, worker: Worker, span: Span, number: int) -> tuple[Usage, list[Record]]:
        """Handles the rows of a batch without a commit. Returns its usage and its rejects."""
        usage, records, written = Usage(), list[Record](), 0
        with usage.measure(worker):
            for items in self._pieces(span):
                with self.db.cursor().copy("COPY strata_new FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(["text", "bytea"])
                    for item, answer, new in self.job.run(worker, items):
                        records.append(new)
                        sizes = len(item.data or b""), len(answer.archive or b"")
                        usage.count(new.outcome, *sizes)
                        if answer.archive is not None:
                            copy.write_row((item.key, answer.archive))
                            written += 1
            if written:
                update = """UPDATE {table} t SET {column} = n.data FROM strata_new n
                    WHERE t.{key} = n.key::{type}"""
                # A trigger can replace the new archive.
                end = " RETURNING t.{column} IS NOT DISTINCT FROM n.data"
                changed = sum(row[0] for row in self._execute(update, span, end))
                if changed != written:
                    text = f"a trigger, a rule or a policy of {self.table.name} keeps the others"
                    raise RunError(f"PostgreSQL updated {changed} of {written} rows; {text}")
        self._save(number, usage, records)
        return usage, [one for one in records if one.failed]

    def _save(self, number: int, usage: Usage, records: list[Record]) -> None:
        """Writes the records of a batch and marks it as done, without a commit."""
        with self.db.cursor().copy("COPY strata_records FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text"] * 4 + ["int8", "int8"] + ["text"] * 4)
            for one in records:
                copy.write_row((self.run, *one))
        counts = [usage.counts[word] for word in _COUNTS]
        numbers = (usage.records, usage.bytes_read, usage.bytes_written, usage.seconds, *counts)
        query = f"""UPDATE strata_batches SET state = 'done', (done, bytes_read, bytes_written,
            seconds, {", ".join(_COUNTS)}) = ROW({", ".join(["%s"] * len(numbers))})
            WHERE run = %s AND number = %s"""
        self.db.execute(query.encode(), (*numbers, self.run, number))

    def _execute(self, text: str, span: Span, end: str = "") -> psycopg.Cursor[Any]:
        below = " AND t.{key} <= %s::{type}" if span.inclusive else " AND t.{key} < %s::{type}"
        above = "" if span.low is None else " AND t.{key} >= %s::{type}"
        query = self.table.sql(text + below + above + end, self.key_type)
        bounds = [bound for bound in (span.high, span.low) if bound is not None]
        return self.db.execute(query, bounds, binary=True)

    def _pieces(self, span: Span) -> Iterator[Iterable[Item]]:
        """Fetches the rows in pieces, so that memory holds 8 MiB of them or one longer row."""
        lengths = "SELECT t.{key}::text, {size}" + _ARCHIVES
        lock = "" if self.job.operation is Operation.VERIFY else " FOR NO KEY UPDATE"
        pieces, size = list[list[str]](), 0
        for key, length in self._execute(lengths, span, " ORDER BY t.{key}" + lock).fetchall():
            if length > self.job.max_frame:
                message = f"the archive has {length:,} bytes; raise --max-frame"
                answer = refusal(Outcome.UNSUPPORTED, message, "limitExceeded")
                yield [Item(key, None, refusal=answer)]
                continue
            if not pieces or size + length > _PIECE:
                pieces.append([])
                size = 0
            pieces[-1].append(key)
            size += length
        end = f" AND {{size}} <= {self.job.max_frame}"
        for piece in pieces:
            rows = "SELECT t.{key}::text, {sides}" + _ARCHIVES
            found, keys = self._execute(rows, Span(piece[0], piece[-1], True), end), set(piece)
            # A row that was inserted after the keys were read is not locked.
            yield (self.job.item(row[0], row[1:]) for row in found.fetchall() if row[0] in keys)


def _value(db: Database, query: str | sql.Composed, *values: object) -> Any:
    """Returns the first column of the first row, or None."""
    row = db.execute(cast(Any, query), values or None).fetchone()
    return row[0] if row else None


def _begin(db: Database, table: Table, job: Job, run: str, greeting: dict[str, Any]) -> str:
    """Begins a run or continues it, and returns its name.

    Without a name, the last unfinished run of the same operation and table is continued.
    """
    source = f"{table.name}({', '.join([table.key, table.column, *table.others])})"
    arguments = (job.operation.name.lower(), source, models(greeting))
    db.execute("SELECT pg_advisory_xact_lock(hashtext('strata_runs'))")
    db.execute(_TABLES.encode())
    table.key_type(db)
    query = "SELECT operation, source, models FROM strata_runs WHERE run = %s"
    if not run:
        last = """SELECT run FROM strata_runs WHERE finished IS NULL AND operation = %s
            AND source = %s ORDER BY started DESC LIMIT 1"""
        run, now = _value(db, last, *arguments[:2]), datetime.now(UTC)
        while not run:  # Another run may have begun in the same second.
            name, now = f"{now:%Y%m%d-%H%M%S}", now + timedelta(seconds=1)
            run = "" if _value(db, query, name) else name
    if saved := db.execute(query, (run,)).fetchone():
        same_run(run, saved, arguments)
        return run
    new = """INSERT INTO strata_runs (run, operation, source, models, greeting, last_key)
        SELECT %s, %s, %s, %s, %s, (SELECT {key}::text FROM {table} ORDER BY {table}.{key} DESC
        LIMIT 1)"""
    db.execute(table.sql(new), (run, *arguments, json.dumps(greeting)))
    db.execute(table.sql(_PLAN), {"run": run, "batch": table.batch})
    return run


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Raises a `RunError` instead of an error of psycopg."""
    try:
        yield
    except psycopg.Error as error:
        text = f"PostgreSQL: {_line(error)}"
        if isinstance(error, errors.DiskFull):
            text = f"the disk of the server is full ({_line(error)}); free some space"
        raise RunError(text) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _work(table: Table, job: Job, run: str, pipe: Connection) -> None:
    """Handles batches in a process of its own, until none is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent process ends this one.
    with suppress(BrokenPipeError):  # The parent process may end.
        try:
            with _clear_errors(), job.worker() as worker:
                _work_with(worker, table, job, run, pipe)
            own, tool = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            memory = {"memory_mb": own.ru_maxrss // 1024, "tool_memory_mb": tool.ru_maxrss // 1024}
            pipe.send(("worker", {**memory, "cpu": round(time.process_time(), 2)}))
        except (RunError, UsageError, WorkerError) as error:
            pipe.send(("error", str(error)))


def _work_with(worker: Worker, table: Table, job: Job, run: str, pipe: Connection) -> None:
    failed_since, pause, session = None, 0.25, None
    while True:
        try:
            session = session or Session(table, job, run)
            if (result := session.step(worker)) is None:
                return
        except psycopg.Error as error:
            if session and not session.db.closed and not isinstance(error, _TRANSIENT):
                raise
            failed_since = failed_since or time.monotonic()
            if time.monotonic() - failed_since > table.patience:
                text = f"PostgreSQL: no batch has succeeded for {table.patience:g} s"
                raise RunError(f"{text}: {_line(error)}") from error
            pipe.send(("reconnecting", {"pause": pause, "message": _line(error)}))
            if session:
                session.db.close()
            time.sleep(pause)
            session, pause = None, min(pause * 2, 5)
        else:
            failed_since, pause = None, 0.25
            pipe.send(("add", result[0], result[1][:20]))


@_clear_errors()
def run_table(table: Table, job: Job, report: Report, run: str) -> tuple[dict[str, int], int]:
    """Runs a job over a table with a process for each worker.

    Returns the number of records with each outcome, and the number of rows without a record.

    Raises: `RunError`, `UsageError` or `WorkerError`.
    """
    sums = ", ".join(f"coalesce(sum({column}), 0)::int8" for column in ("rows", "done", *_COUNTS))
    sums = f"SELECT ARRAY[{sums}] FROM strata_batches WHERE run = %s"
    with job.worker() as worker, psycopg.connect(table.dsn) as db:
        run = _begin(db, table, job, run, worker.greeting)
        job = replace(job, greeting=worker.greeting)
        total, done, *_ = _value(db, sums, run)
    report.begin(run, job.operation.name.lower(), total, done, job.workers)
    _supervise(table, job, report, run)
    with psycopg.connect(table.dsn) as db:
        if _value(db, _OPEN, run):
            raise RunError("the server has lost its last commits")
        _, _, *numbers = _value(db, sums, run)
        query = "SELECT count(*)" + _ARCHIVES + """ AND NOT EXISTS (
            SELECT FROM strata_records r WHERE r.run = %s AND r.key = t.{key}::text)"""
        uncovered = _value(db, table.sql(query), run)
        name = table.sql("{table}").as_string(db)
        has_policies = _value(db, "SELECT row_security_active(%s::regclass)", name)
        query = "UPDATE strata_runs SET finished = now() WHERE run = %s AND finished IS NULL"
        db.execute(query, (run,))
    if uncovered and has_policies:
        text = "a policy prevents their update, or they were inserted during the run"
        raise RunError(f"{uncovered:,} rows are not covered: {text}")
    return {word: n for word, n in zip(_COUNTS, numbers) if n}, uncovered


def _supervise(table: Table, job: Job, report: Report, run: str) -> None:
    """Runs a process for each worker, and another one for each process that dies."""
    context, missing, deaths = multiprocessing.get_context("spawn"), job.workers, 0
    processes: dict[Connection, Any] = {}
    try:
        while missing or processes:
            for _ in range(missing):
                ours, theirs = context.Pipe(duplex=False)
                arguments = (table, job, run, theirs)
                processes[ours] = context.Process(target=_work, args=arguments, daemon=True)
                processes[ours].start()
                theirs.close()
            missing = 0
            for pipe in cast(list[Connection], wait(list(processes))):
                try:
                    event, *content = pipe.recv()
                except (EOFError, OSError):
                    process = processes.pop(pipe)
                    process.join()
                    if process.exitcode:
                        missing, deaths = missing + 1, deaths + 1
                        report.log("died", exit=process.exitcode, message="a worker process ended")
                    if deaths > _DEATHS:
                        raise RunError("too many worker processes ended") from None
                    continue
                if event == "error":
                    raise RunError(*content)
                if event == "add":
                    report.add(*content)
                else:
                    report.log(event, **content[0])
    finally:
        for process in processes.values():
            process.terminate()
            process.join()


@_clear_errors()
def sample_table(table: Table, job: Job, size: int) -> tuple[Usage, int]:
    """Runs the job on random rows and rolls back. Returns their usage, and the number of all."""
    usage = Usage()
    spans = """SELECT low::text, (SELECT {key}::text FROM (SELECT {key} FROM {table}
            WHERE {key} >= sampled.low ORDER BY {key} LIMIT %s) following
            ORDER BY following.{key} DESC LIMIT 1)
        FROM (SELECT {key} AS low FROM {table} TABLESAMPLE SYSTEM (%s)
            ORDER BY random() LIMIT %s) sampled"""
    with job.worker() as worker:
        session = Session(table, job, "dry run")
        db, name = session.db, table.sql("{table}").as_string(session.db)
        total = _value(db, "SELECT reltuples::int8 FROM pg_class WHERE oid = to_regclass(%s)", name)
        if total < 1_000_000:  # The estimate is exact enough for larger tables only.
            total = _value(db, table.sql("SELECT count(*)" + _ARCHIVES))
        share = min(100.0, 100 * max(20 * size, 10_000) / max(total, 1))
        for low, high in db.execute(table.sql(spans), (max(1, size // 10), share, 10)).fetchall():
            db.execute(_TABLES.encode())
            began = time.monotonic()
            part, _ = session.batch(worker, Span(low, high, True), -1)
            part.seconds = time.monotonic() - began
            db.rollback()
            usage.add(part)
        db.close()
    return usage, total
