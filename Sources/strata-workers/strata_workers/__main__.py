"""The command `strata-workers`."""

import argparse
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import __version__
from .manifest import Job, RunError, UsageError
from .metrics import Report, Usage, failures, projection, summary
from .protocol import Operation
from .worker import WorkerError

_CODES = "exit codes: 0 complete, 1 some records were rejected, 2 failure, 64 wrong usage"
Result = dict[str, int] | tuple[Usage, int]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"error: {message}\n")


def _size(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def _command(commands: Any, function: Callable[..., Result], about: str, run: str) -> Any:
    """Adds a command with the arguments of all commands, and returns its `add_argument`."""
    parser = commands.add_parser(function.__name__[1:], help=about, epilog=_CODES)
    parser.set_defaults(function=function)
    add = parser.add_argument
    add("operation", choices=[o.name.lower() for o in Operation if o is not Operation.STAMP])
    add("--tool", required=True, help="your app's tool, which has the command worker")
    add("--workers", type=_size, default=os.cpu_count() or 1, help="worker processes (all cores)")
    add("--run", metavar="ID", help=f"the name of the run; by default {run}")
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
    return add


def _parser() -> argparse.ArgumentParser:
    about = "Upgrades, verifies, converts and merges archives with workers of an app's tool."
    parser = _Parser(prog="strata-workers", epilog=_CODES, description=about)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)

    add = _command(commands, _folder, "the files of a folder", "the operation")
    add("input", metavar="IN", help="the folder with the archives")
    add("output", metavar="OUT", help="the folder for the manifest and new files")
    add("--retry", action="store_true", help="repeat rejected records")
    add("--overwrite", action="store_true", help="allow files in a new OUT")

    add = _command(commands, _postgres, "a column of a table", "the unfinished one, or a new one")
    add("--dsn", default="", help="the connection; by default PGHOST and so on")
    add("--table", required=True, help="TABLE or SCHEMA.TABLE")
    add("--key", required=True, help="a column with a unique index")
    add("--column", required=True, help="the bytea column with the archives")
    add("--batch", type=_size, default=1000, help="rows of a transaction (1000)")
    add("--patience", type=float, default=60.0, help="seconds for reconnecting (60)")

    add = _command(commands, _spark, "a column of a DataFrame", "the operation")
    add("input", metavar="IN", help="the table, sequence file or folder to read")
    add("output", metavar="OUT", help="the results are written to OUT/run=ID/step=N")
    add("--format", choices=["parquet", "sequence", "folder"], default="parquet")
    add("--key", default="key", help="the column that identifies a row (key)")
    add("--column", default="archive", help="the binary column with the archives (archive)")
    add("--steps", type=_size, default=16, help="steps of the run, each committed by itself (16)")
    add("--by", default="", help="the column whose hash selects the step of a row (the key)")
    add("--master", help="the address of the cluster, unless spark-submit passes it")
    add("--check", action="store_true", help="read IN again at the end, and compare checksums")
    return parser


def _folder(args: argparse.Namespace, job: Job, report: Report) -> Result:
    from .folders import Folders

    folders = Folders(job, args.input, args.output)
    if args.dry_run:
        return folders.sample(args.sample)
    return folders.run(report, args.run or args.operation, args.retry, args.overwrite)


def _postgres(args: argparse.Namespace, job: Job, report: Report) -> Result:
    from .postgres import Table, run_table, sample_table

    names = args.dsn, args.table, args.key, args.column
    table = Table(*names, job.others, args.batch, args.patience)
    if args.dry_run:
        return sample_table(table, job, args.sample)
    counts, uncovered = run_table(table, job, report, args.run or "")
    if uncovered:
        print(f"{uncovered:,} rows were inserted during the run; another run covers them")
    return counts


def _spark(args: argparse.Namespace, _: Job, report: Report) -> Result:
    from . import spark

    return spark.main(args, report)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    args = _parser().parse_args(arguments)
    report = Report(args.log == "json", args.progress, args.metrics)
    others = tuple(place for place in (args.server, args.base) if place)
    job = Job(Operation[args.operation.upper()], args.tool, args.workers, tuple(args.tool_option),
              args.model, args.max_frame, args.timeout, others)  # fmt: skip
    try:
        is_merge = job.operation is Operation.MERGE
        if is_merge != bool(args.server) or (args.base and not args.server):
            raise UsageError("merge needs --server, and only merge has --server and --base")
        result: Result = args.function(args, job, report)
        if isinstance(result, tuple):
            print(projection(*result, args.workers))
            return 0
        report.end("finished")
        print(summary(result))
        return 1 if failures(result) else 0
    except (UsageError, ImportError) as error:
        hint = f"; pip install 'strata-workers[{args.command}]'"
        print(f"error: {error}{hint * isinstance(error, ImportError)}", file=sys.stderr)
        return 64
    except KeyboardInterrupt:
        message = "interrupted"
    except (RunError, WorkerError, sqlite3.Error) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'writing'}: {error.strerror or error}"
    report.end("failed")
    print(f"error: {message}\nRepeat the command to do the rest.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
