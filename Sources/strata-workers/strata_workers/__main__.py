"""The command `strata-workers`."""

import argparse
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import __version__
from .manifest import Job, RunError, UsageError
from .metrics import Report, Usage, failures, summary
from .plan import plan_text
from .protocol import Operation
from .worker import WorkerError

_CODES = "exit codes: 0 complete, 1 some records were rejected, 2 failure, 64 wrong usage"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"error: {message}\n")


def _size(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def _common(parser: argparse.ArgumentParser, run: str) -> None:
    add = parser.add_argument
    add("--tool", required=True, help="your app's tool, which has the command worker")
    add("--workers", type=_size, default=os.cpu_count() or 1, help="worker processes (all cores)")
    add("--run", metavar="ID", help=run)
    add("--server", metavar="PLACE", help="merge: the server's archives, a folder or a column")
    add("--base", metavar="PLACE", help="merge: the base archives, a folder or a column")
    add("--model", help="convert: the model of JSON documents")
    option = "an option of the worker, such as --tool-option=--policy=votes=max"
    add("--tool-option", action="append", default=[], metavar="OPTION", help=option)
    add("--max-frame", type=_size, default=64 << 20, help="bytes of the longest archive (64 MiB)")
    add("--timeout", type=float, default=60.0, help="seconds until a worker counts as hung (60)")
    add("--progress", action="store_true", help="report percent, rate and time left")
    add("--log", choices=["text", "json"], default="text", help="the form of the log")
    add("--metrics", default="", metavar="FILE.prom", help="metrics for Prometheus")
    add("--dry-run", action="store_true", help="run a sample, write nothing, and project the rest")
    add("--sample", type=_size, default=1000, help="the number of records of a dry run (1000)")


def _parser() -> argparse.ArgumentParser:
    about = "Upgrades, verifies, converts and merges archives with workers of an app's tool."
    parser = _Parser(prog="strata-workers", epilog=_CODES, description=about)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    operations = [o.name.lower() for o in Operation if o is not Operation.STAMP]

    folder = commands.add_parser("folder", help="the files of a folder", epilog=_CODES)
    folder.add_argument("operation", choices=operations)
    folder.add_argument("input", metavar="IN", help="the folder with the archives")
    folder.add_argument("output", metavar="OUT", help="the folder for the manifest and new files")
    _common(folder, "the name of the run; by default the operation")
    folder.add_argument("--retry", action="store_true", help="repeat rejected records")
    folder.add_argument("--overwrite", action="store_true", help="allow files in a new OUT")
    folder.set_defaults(function=_folder)

    postgres = commands.add_parser("postgres", help="a column of a table", epilog=_CODES)
    postgres.add_argument("operation", choices=operations)
    postgres.add_argument("--dsn", default="", help="the connection; by default PGHOST and so on")
    postgres.add_argument("--table", required=True, help="TABLE or SCHEMA.TABLE")
    postgres.add_argument("--key", required=True, help="a column with a unique index")
    postgres.add_argument("--column", required=True, help="the bytea column with the archives")
    _common(postgres, "the name of the run; by default the unfinished one, or a new one")
    postgres.add_argument("--batch", type=_size, default=1000, help="rows of a transaction (1000)")
    patience = "seconds for which a worker tries to reconnect (60)"
    postgres.add_argument("--patience", type=float, default=60.0, help=patience)
    postgres.set_defaults(function=_postgres)

    spark = commands.add_parser("spark", help="a column of a DataFrame", epilog=_CODES)
    spark.add_argument("operation", choices=operations)
    spark.add_argument("input", metavar="IN", help="the table, sequence file or folder to read")
    spark.add_argument("output", metavar="OUT", help="the results are written to OUT/run=ID/step=N")
    _common(spark, "the name of the run; by default the operation")
    add = spark.add_argument
    add("--format", choices=["parquet", "sequence", "folder"], default="parquet")
    add("--key", default="key", help="the column that identifies a row (key)")
    add("--column", default="archive", help="the binary column with the archives (archive)")
    add("--steps", type=_size, default=16, help="steps of the run, each committed by itself (16)")
    add("--by", default="", help="the column whose hash selects the step of a row (the key)")
    add("--master", help="the address of the cluster, unless spark-submit passes it")
    add("--check", action="store_true", help="read IN again at the end, and compare checksums")
    spark.set_defaults(function=_spark)
    return parser


def _job(args: argparse.Namespace) -> tuple[Job, tuple[str, ...]]:
    operation = Operation[args.operation.upper()]
    others = tuple(place for place in (args.server, args.base) if place)
    if (operation is Operation.MERGE) != bool(args.server) or (args.base and not args.server):
        raise UsageError("merge needs --server, and only merge has --server and --base")
    return Job(operation, args.tool, args.workers, tuple(args.tool_option), args.model,
               args.max_frame, args.timeout), others  # fmt: skip


def _folder(args: argparse.Namespace, report: Report) -> dict[str, int] | tuple[Usage, int]:
    from .folders import Folders, run_folders, sample_folders

    job, others = _job(args)
    folders = Folders(job, args.input, args.output, others)
    if args.dry_run:
        return sample_folders(folders, args.sample)
    run = args.run or args.operation
    if os.sep in run:
        raise UsageError("the name of a run must not contain a slash")
    return run_folders(folders, report, run, args.retry, args.overwrite)


def _postgres(args: argparse.Namespace, report: Report) -> dict[str, int] | tuple[Usage, int]:
    try:
        import psycopg
    except ImportError:
        raise UsageError("psycopg is missing; pip install 'strata-workers[postgres]'") from None
    from .postgres import Table, run_table, sample_table

    job, others = _job(args)
    table = Table(args.dsn, args.table, args.key, args.column, others, args.batch, args.patience)
    try:
        if args.dry_run:
            return sample_table(table, job, args.sample)
        counts, uncovered = run_table(table, job, report, args.run)
    except psycopg.Error as error:
        raise RunError(f"PostgreSQL: {str(error).strip()}") from error
    if uncovered:
        rows = f"{uncovered:,} rows are not covered, because they were inserted"
        print(f"{rows} during the run; another run covers them")
    return counts


def _spark(args: argparse.Namespace, report: Report) -> dict[str, int] | tuple[Usage, int]:
    try:
        from . import spark
    except ImportError:
        raise UsageError("pyspark is missing; pip install 'strata-workers[spark]'") from None
    _job(args)
    return spark.main(args, report)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    args = _parser().parse_args(arguments)
    report = Report(args.log == "json", args.progress, args.metrics)
    function: Callable[..., Any] = args.function
    try:
        result = function(args, report)
        if isinstance(result, tuple):
            print(plan_text(result[0], result[1], args.workers))
            return 0
        report.end("finished")
        print(summary(result))
        return 1 if failures(result) else 0
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 64
    except KeyboardInterrupt:
        message = "interrupted"
    except (RunError, WorkerError, sqlite3.Error) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'writing'}: {error.strerror}"
    report.end("failed")
    print(f"error: {message}\nRepeat the command to do the rest.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
