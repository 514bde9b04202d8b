"""Upgrades, verifies, converts and merges the archives in a column of a Spark DataFrame."""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import Accumulator, AccumulatorParam, SparkContext, SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strata_workers.manifest import Item, Job, Record, RunError, checksum, models, same_run
from strata_workers.metrics import Report, Usage, failures
from strata_workers.protocol import FAILURES, Answer, Operation
from strata_workers.worker import Worker

_STATUS = "outcome string, type string, version_from bigint, version_to bigint, before string, "
_STATUS += "after string, code string, message string, losses array<string>, "
_STATUS += "conflicts array<string>"
_TEXT, _NUMBER, _LIST = pa.string(), pa.int64(), pa.list_(pa.string())
_TYPES = [pa.binary(), _TEXT, _TEXT, _NUMBER, _NUMBER, _TEXT, _TEXT, _TEXT, _TEXT, _LIST, _LIST]
_ROWS, _BYTES = 10_000, 16 << 20  # A batch of results ends at either limit.
_PACKED = tempfile.TemporaryDirectory(prefix="strata-workers-")


class _Usage(AccumulatorParam[Usage]):
    def zero(self, value: Usage) -> Usage:
        return Usage()

    def addInPlace(self, value1: Usage, value2: Usage) -> Usage:
        value1.add(value2)
        return value1


def usage(context: SparkContext) -> Accumulator[Usage]:
    """Returns an accumulator for the work of all tasks. A repeated task counts again."""
    return context.accumulator(Usage(), _Usage())


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Raises the message of a worker instead of the traces of Python and Java around it."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        causes = [re.findall(rf"{n}: (.*)", str(error)) for n in ("WorkerError", "Caused by")]
        raise RunError(next((found[-1] for found in causes if found), str(error))) from error


def upgrade(df: DataFrame, *, column: str = "archive", **shared: Any) -> DataFrame:
    """Upgrades archives to the current versions of the models of the app's tool.

    The arguments of all operations are `tool`, the file of the app's tool, which travels with the
    job; `key`, the column that identifies a row; `keep`, whether a row without a new archive keeps
    its bytes; `metrics`, of `usage`; and `options`, `timeout` and `max_frame` of the worker.
    """
    return _apply(df, Operation.UPGRADE, [column], **shared)


def verify(df: DataFrame, *, column: str = "archive", **shared: Any) -> DataFrame:
    """Verifies archives. `keep` is false by default."""
    return _apply(df, Operation.VERIFY, [column], **{"keep": False, **shared})


def convert(df: DataFrame, *, column: str = "archive", **shared: Any) -> DataFrame:
    """Converts keyed archives, property lists, or JSON documents of the `model`, to archives."""
    return _apply(df, Operation.CONVERT, [column], **shared)


def merge(df: DataFrame, *, local: str, server: str, base: str = "", **shared: Any) -> DataFrame:
    """Merges two columns. `base` is the column of their common base. The result is in `local`."""
    columns = [local, server, base] if base else [local, server]
    return _apply(df, Operation.MERGE, columns, **shared)


OPERATIONS = {"upgrade": upgrade, "verify": verify, "convert": convert, "merge": merge}


def accepted(result: DataFrame) -> DataFrame:
    """Returns the rows whose operation succeeded."""
    return result.where(~F.col("outcome").isin(FAILURES))


def rejects(result: DataFrame) -> DataFrame:
    """Returns the rows whose operation failed."""
    return result.where(F.col("outcome").isin(FAILURES))


def read(spark: SparkSession, path: str, kind: str = "parquet") -> DataFrame:
    """Reads Parquet. A `sequence` of (Text, BytesWritable) and a `folder` have key and archive."""
    if kind == "sequence":
        pairs: Any = spark.sparkContext.sequenceFile(path)
        return spark.createDataFrame(pairs, "key string, archive binary")
    if kind == "folder":
        files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
        return files.selectExpr("path AS key", "content AS archive")
    return spark.read.parquet(path)


def _ship(context: SparkContext, tool: str) -> None:
    """Adds the tool and this package to the files that executors fetch."""
    names = {os.path.basename(path) for path in context.listFiles}
    if os.path.isfile(tool) and os.path.basename(tool) not in names:
        context.addFile(os.path.abspath(tool))
    folder, packed = os.path.split(os.path.dirname(__file__)), f"{_PACKED.name}/strata_workers"
    if os.path.isdir(os.path.join(*folder)) and "strata_workers.zip" not in names:
        context.addPyFile(shutil.make_archive(packed, "zip", *folder))


def _worker(job: Job) -> Worker:
    """Returns a worker of the tool that travelled with the job, or of an installed one."""
    path = SparkFiles.get(os.path.basename(job.tool))
    if not os.path.isfile(path):
        return job.worker()
    if not os.access(path, os.X_OK):
        os.chmod(path, 0o755)
    return replace(job, tool=path).worker()


def _greeting(job: Job) -> dict[str, Any]:
    with _worker(job) as worker:
        return worker.greeting


def _views(column: pa.Array) -> list[memoryview | None]:
    """Returns the values of a binary or string column as views of its buffer."""
    return [None if (b := value.as_buffer()) is None else memoryview(b) for value in column]


def _batch(rows: list[tuple[Any, ...]], types: list[Any], names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(map(pa.array, zip(*rows), types)), names=names)


def _lists(answer: Answer) -> list[list[str] | None]:
    """Returns the losses and the conflicts of an answer."""
    values = [answer.details.get(name) for name in ("losses", "conflicts")]
    return [list(map(str, value)) if isinstance(value, list) else None for value in values]


def _apply(df: DataFrame, operation: Operation, columns: list[str], tool: str, key: str = "key",
           keep: bool = True, metrics: Accumulator[Usage] | None = None,
           **limits: Any) -> DataFrame:  # fmt: skip
    _ship(df.sparkSession.sparkContext, tool)
    job = Job(operation, tool, **limits)
    names = [key, columns[0], *re.findall(r"(\w+) [^,]+", _STATUS)]

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        used, worker, rows, held = Usage(), _worker(job), list[tuple[Any, ...]](), 0
        types = [pa.null(), *_TYPES]

        def items() -> Iterator[Item]:
            for batch in batches:
                types[0] = batch.column(0).type
                for row in zip(batch.column(0).to_pylist(), *map(_views, batch.columns[1:])):
                    yield job.item(row[0], row[1:])

        try:
            with used.measure(worker), worker:
                for item, answer, new in job.run(worker, items()):
                    archive = answer.archive or (item.data if keep else None)
                    rows.append((item.key, archive, *new[1:], *_lists(answer)))
                    sizes = len(item.data or b""), len(answer.archive or b"")
                    used.count(new.outcome, *sizes)
                    held += sum(sizes)
                    if len(rows) == _ROWS or held > _BYTES:
                        yield _batch(rows, types, names)
                        rows, held = [], 0
            if rows:
                yield _batch(rows, types, names)
        finally:
            if metrics:
                metrics.add(used)

    schema = f"`{key}` {df.schema[key].dataType.simpleString()}, `{columns[0]}` binary, {_STATUS}"
    return df.select(key, *columns).mapInArrow(task, schema)


def _hash(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sums = ["" if view is None else checksum(view) for view in _views(batch.column(1))]
        arrays = [batch.column(0), pa.array(sums, pa.string())]
        yield pa.RecordBatch.from_arrays(arrays, names=["key", "before"])


def _totals(df: DataFrame) -> dict[str, Any]:
    """Counts the rows, and adds up hashes of columns. The order of the rows does not matter."""
    key, known = df.columns[0], [name for name in ("outcome",) if name in df.columns]
    hashes = {"keys": [key], "pairs": [key, "before"], "before": ["before"], "after": ["after"]}
    hashes = {name: columns for name, columns in hashes.items() if {*columns} <= {*df.columns}}
    sums = [F.sum(F.xxhash64(*columns).cast("decimal(20)")) for columns in hashes.values()]
    rows = df.groupBy(*known).agg(F.count("*"), *sums).collect()
    counts = [[int(value or 0) for value in row[len(known) :]] for row in rows]
    values = [sum(column) for column in zip(*counts)] or [0] * (1 + len(hashes))
    words = {"outcomes": {row[0]: row[1] for row in sorted(rows)}} if known else {}
    named = {name: f"{value % (1 << 64):016x}" for name, value in zip(hashes, values[1:])}
    return {"records": values[0], **words, **named}


def _note(root: str, name: str, value: dict[str, Any] | None = None) -> dict[str, Any]:
    """Reads a JSON file of a run, or writes it atomically. Returns {} if it does not exist."""
    spark: Any = SparkSession.active()
    new, folder = spark._jvm.org.apache.hadoop.fs.Path, f"{root}/_run"
    path, part = new(f"{folder}/{name}.json"), new(f"{folder}/.{name}-{uuid.uuid4().hex}")
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if value is None:
        if not files.exists(path):
            return {}
        stream = files.open(path)
        text = spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        stream.close()
        return dict(json.loads(text))
    stream = files.create(part)
    stream.write(bytearray(json.dumps(value, sort_keys=True), "utf-8"))
    stream.close()
    if files.exists(path) or not files.rename(part, path):
        raise RunError(f"another driver wrote {name} of {root}; run one driver at a time")
    return value


def _commits(root: str) -> dict[int, dict[str, Any]]:
    """Returns the commits of a run's steps. Steps without a commit have {}."""
    steps = range(_note(root, "plan").get("steps", 0))
    return {step: _note(root, f"step={step}") for step in steps}


@_clear_errors()
def run(df: DataFrame, out: str, run_id: str, operation: Callable[..., DataFrame] = upgrade, *,
        steps: int = 16, by: str = "", report: Report | None = None,
        **shared: Any) -> dict[str, Any]:  # fmt: skip
    """Writes the results of an operation as Parquet to `out/run=ID/step=N`, and checks them.

    The hash of the column `by`, the key by default, selects the step of a row. A file in
    `out/run=ID/_run` commits a step. A repeated run does the steps that have no commit.

    Raises: `RunError` if a worker does not start, if a repeated run has other arguments, or if
    Spark fails. Committed steps are kept.
    """
    context, root, name = df.sparkSession.sparkContext, f"{out}/run={run_id}", operation.__name__
    report, key = report or Report(), shared.setdefault("key", "key")
    _ship(context, shared["tool"])
    probe = Job(Operation.VERIFY, shared["tool"], options=tuple(shared.get("options", ())))
    greeting: dict[str, Any] = context.parallelize([probe], 1).map(_greeting).first()
    totals = _totals(df.select(key))
    said = {name: value for name, value in shared.items() if name not in ("tool", "timeout")}
    source = json.dumps({**totals, **said, "steps": steps, "by": by or key})
    column = shared.get("column") or shared.get("local") or "archive"
    plan: dict[str, Any] = {"operation": name, "source": source, "models": models(greeting)}
    plan |= {"steps": steps, "input": totals, "column": column}
    known = _note(root, "plan") or _note(root, "plan", plan)
    before, now = (tuple(p[k] for k in ("operation", "source", "models")) for p in (known, plan))
    same_run(run_id, before, now)
    done = _commits(root)
    skipped = sum(commit.get("records", 0) for commit in done.values())
    report.begin(run_id, name, totals["records"], skipped, context.defaultParallelism)
    for step in [step for step, commit in done.items() if not commit]:
        rows = df.where(F.pmod(F.xxhash64(by or key), F.lit(steps)) == step)
        metrics, path = usage(context), f"{root}/step={step}"
        result = operation(rows, metrics=metrics, greeting=greeting, **shared)
        result.write.mode("overwrite").parquet(path)
        written = df.sparkSession.read.schema(result.schema).parquet(path)
        commit = _note(root, f"step={step}", _totals(written))
        counts = Counter(commit["outcomes"])
        bad = rejects(written).limit(20).collect() if failures(counts) else []
        report.add(replace(metrics.value, counts=counts), [Record(r[0], *r[2:10]) for r in bad])
    return complete(out, run_id)


def results(out: str, run_id: str) -> DataFrame:
    """Returns the results of a run's committed steps."""
    root = f"{out}/run={run_id}"
    paths = [f"{root}/step={step}" for step, commit in _commits(root).items() if commit]
    if not paths:
        raise RunError(f"{root} has no committed step")
    return SparkSession.active().read.option("basePath", root).parquet(*paths)


def complete(out: str, run_id: str, df: DataFrame | None = None) -> dict[str, Any]:
    """Checks that the rows of a run's input and of its results correspond one to one.

    The counts and the sums of the keys are compared. If `df` is the input, its archives are read
    again, and their checksums are compared too.

    Raises: `RunError` if a step has no commit, or if a count or a sum differs.
    """
    root = f"{out}/run={run_id}"
    plan, commits = _note(root, "plan"), [*_commits(root).values()]
    if not commits or not all(commits):
        raise RunError(f"{commits.count({})} of {len(commits)} steps of {root} have no commit")
    found, sums = results(out, run_id), {"records": sum(commit["records"] for commit in commits)}
    for name in ("keys", "pairs", "before", "after"):
        sums[name] = f"{sum(int(commit[name], 16) for commit in commits) % (1 << 64):016x}"
    expected, totals = {"input": plan["input"], "commits": sums}, _totals(found)
    if df is not None:
        pair = df.select(found.columns[0], plan["column"])
        hashed = pair.mapInArrow(_hash, f"key {pair.dtypes[0][1]}, before string")
        expected["input, read again,"] = _totals(hashed)
    for source, values in expected.items():
        for name in (n for n in totals if values.get(n, totals[n]) != totals[n]):
            numbers = f"{values[name]}, and of the results {totals[name]}"
            raise RunError(f"run {run_id} is incomplete: {name} of the {source} are {numbers}")
    return _note(root, "complete") or _note(root, "complete", totals)


def sample(df: DataFrame, operation: Callable[..., DataFrame] = upgrade, size: int = 1000,
           **shared: Any) -> tuple[Usage, int]:  # fmt: skip
    """Runs the operation on random rows. Returns their usage, and the number of all rows."""
    total, metrics = df.count(), usage(df.sparkSession.sparkContext)
    rows = df.sample(min(1.0, 2 * size / max(total, 1))).limit(size)
    operation(rows, **shared, metrics=metrics).write.format("noop").mode("overwrite").save()
    return metrics.value, total


@_clear_errors()
def main(args: argparse.Namespace, report: Report) -> dict[str, int] | tuple[Usage, int]:
    """Runs `strata-workers spark`. Returns the outcomes, or the usage of a dry run."""
    builder = SparkSession.builder.appName(f"strata-workers {args.operation}")
    session = (builder.master(args.master) if args.master else builder).getOrCreate()
    names = ("tool", "key", "model", "timeout", "max_frame")
    shared = {name: getattr(args, name) for name in names} | {"options": tuple(args.tool_option)}
    shared["local" if args.server else "column"] = args.column
    shared |= {name: getattr(args, name) for name in ("server", "base") if getattr(args, name)}
    try:
        df, operation = read(session, args.input, args.format), OPERATIONS[args.operation]
        args.workers = session.sparkContext.defaultParallelism
        if args.dry_run:
            return sample(df, operation, args.sample, **shared)
        shared |= {"steps": args.steps, "by": args.by, "report": report}
        totals = run(df, args.output, args.run or args.operation, operation, **shared)
        if args.check:
            complete(args.output, args.run or args.operation, df)
        return dict(totals["outcomes"])
    finally:
        session.stop()


if __name__ == "__main__":
    from strata_workers.__main__ import main as command

    sys.exit(command(["spark", *sys.argv[1:]]))
