"""What a run costs: progress, structured logs, metrics for Prometheus, and the projection."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime

from .manifest import Record
from .protocol import FAILURES, Outcome
from .worker import Worker


@dataclass(slots=True)
class Usage:
    """What some records cost."""

    counts: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    restarts: int = 0
    cpu: float = 0.0
    seconds: float = 0.0

    def add(self, other: "Usage") -> None:
        """Adds what other records cost."""
        self.counts.update(other.counts)
        for name in (one.name for one in fields(self)[1:]):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def count(self, outcome: str, bytes_read: int, bytes_written: int) -> None:
        """Adds one record."""
        self.counts[outcome] += 1
        self.bytes_read += bytes_read
        self.bytes_written += bytes_written

    @contextmanager
    def measure(self, worker: Worker) -> Iterator[None]:
        """Adds the time of a block, and the processor time and restarts of the worker in it."""
        began, cpu, restarts = time.monotonic(), worker.cpu_seconds, worker.restarts
        try:
            yield
        finally:
            self.seconds += time.monotonic() - began
            self.cpu += worker.cpu_seconds - cpu
            self.restarts += worker.restarts - restarts

    @property
    def records(self) -> int:
        """The number of records, without skipped ones."""
        return self.counts.total()


def failures(counts: Mapping[str, int]) -> int:
    """Returns the number of rejected records."""
    return sum(counts.get(word, 0) for word in FAILURES)


def summary(counts: Mapping[str, int]) -> str:
    """Returns the counts in words: `3 records: 2 upgraded, 1 damaged`."""
    parts = [f"{counts[o.word]:,} {o.word}" for o in Outcome if counts.get(o.word)]
    total = sum(counts.values())
    return f"{total:,} record{'' if total == 1 else 's'}: {', '.join(parts) or 'none'}"


def duration(seconds: float) -> str:
    """Returns a duration as hours, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def projection(sample: Usage, total: int, workers: int) -> str:
    """Returns the projection for `total` records.

    It assumes that each worker is as fast as the one of the sample.
    """
    each, failed = total / max(sample.records, 1), failures(sample.counts)
    seconds = sample.seconds * each / workers
    # Without a failure in n records, at most 3 / n of all fail, with 95 % confidence.
    most = min(total, (failed + 1.96 * failed**0.5 + 3) * each)
    return (f"A sample of {summary(sample.counts)}\n"
            f"All {total:,} records with {workers} worker{'' if workers == 1 else 's'}:\n"
            f"  time           {duration(seconds)}\n"
            f"  rate           {total / max(seconds, 1e-9):,.0f} records/s\n"
            f"  worker CPU     {duration(sample.cpu * each)}\n"
            f"  bytes read     {sample.bytes_read * each:,.0f}\n"
            f"  bytes written  {sample.bytes_written * each:,.0f}\n"
            f"  rejected       {failed * each:,.0f}, at most {most:,.0f}")  # fmt: skip


class Report:
    """Reports the state of a run on standard error and in a file of metrics."""

    def __init__(self, json_log: bool = False, progress: bool = False, metrics: str = "") -> None:
        self.json_log, self.progress, self.metrics = json_log, progress, metrics
        self.terminal = not json_log and sys.stderr.isatty()
        self.run, self.operation, self.total = "", "", 0
        self.usage = Usage()
        self._began = self._next = time.monotonic()
        self._line, self._rejects = False, 0

    def begin(self, run: str, operation: str, total: int, skipped: int, workers: int) -> None:
        """Names the run. `total` is 0 if the number of records is not known."""
        self.run, self.operation, self.total = run, operation, total
        self.usage, self._began = Usage(skipped=skipped), time.monotonic()
        self.log("began", run=run, operation=operation, total=total, done=skipped, workers=workers)

    def log(self, event: str, **values: object) -> None:
        """Writes an event to standard error: a line of JSON, or text."""
        line = " ".join([event, *(f"{name}={value}" for name, value in values.items())])
        if self.json_log:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = json.dumps({"time": moment, "event": event, **values}, ensure_ascii=False)
        print("\n" * self._line + line, file=sys.stderr, flush=True)
        self._line = False

    def add(self, usage: Usage, records: Iterable[Record] = ()) -> None:
        """Counts records, and reports them if the last report is old enough.

        The manifest has all rejected records, the log the first twenty.
        """
        for one in records:
            if one.failed and self._rejects < 20:
                self._rejects += 1
                self.log("rejected", key=one.key, outcome=one.outcome, message=one.message)
        self.usage.add(usage)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (0.5 if self.terminal else 5.0)
        self._write_metrics("running")
        if not self.progress:
            return
        done = self.usage.records + self.usage.skipped
        rate = self.usage.records / max(time.monotonic() - self._began, 1e-9)
        left = duration((self.total - done) / rate if rate and self.total > done else 0.0)
        percent = 100 * done / self.total if self.total else 0.0
        if self.terminal:
            line = f"{percent:.1f} %  {done:,} of {self.total:,}  {rate:,.0f}/s  {left} left"
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
            self._line = True
        else:
            values = {"percent": round(percent, 1), "done": done, "total": self.total}
            self.log("progress", **values, rate=round(rate), left=left)

    def end(self, state: str) -> None:
        """Writes the last metrics and the event of the end."""
        self._write_metrics(state)
        values = {"counts": dict(self.usage.counts), "cpu": round(self.usage.cpu, 3)}
        values |= {"seconds": round(time.monotonic() - self._began, 3)}
        self.log(state, run=self.run, **{**asdict(self.usage), **values})

    def _write_metrics(self, state: str) -> None:
        if not self.metrics:
            return
        usage, labels = self.usage, f'run="{self.run}",operation="{self.operation}"'
        values: dict[str, float] = {
            "read_bytes_total": usage.bytes_read, "written_bytes_total": usage.bytes_written,
            "worker_restarts_total": usage.restarts,
            "worker_cpu_seconds_total": round(usage.cpu, 3),
            "run_seconds": round(time.monotonic() - self._began, 3),
            "run_records": self.total, "run_records_done": usage.records + usage.skipped,
            "run_complete": int(state == "finished"), "run_failed": int(state == "failed"),
        }  # fmt: skip
        lines = ["# TYPE strata_records_total counter"]
        for word, number in sorted(usage.counts.items()):
            lines.append(f'strata_records_total{{{labels},outcome="{word}"}} {number}')
        for name, value in values.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE strata_{name} {kind}", f"strata_{name}{{{labels}}} {value}"]
        try:  # The collector of node_exporter must never read half a file.
            with open(f"{self.metrics}.part", "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            os.replace(file.name, self.metrics)
        except OSError as error:
            self.log("warning", message=f"cannot write {self.metrics}: {error.strerror}")
            self.metrics = ""
