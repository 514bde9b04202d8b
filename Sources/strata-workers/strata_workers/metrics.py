"""Progress, structured logs, and metrics for Prometheus."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .protocol import Outcome


@dataclass(slots=True)
class Usage:
    """What some records cost."""

    counts: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    bytes_written: int = 0
    restarts: int = 0
    skipped: int = 0
    cpu: float = 0.0
    seconds: float = 0.0

    def add(self, other: "Usage") -> None:
        """Adds what other records cost."""
        self.counts.update(other.counts)
        self.bytes_read += other.bytes_read
        self.bytes_written += other.bytes_written
        self.restarts += other.restarts
        self.skipped += other.skipped
        self.cpu += other.cpu
        self.seconds += other.seconds

    @property
    def records(self) -> int:
        """The number of records."""
        return self.counts.total()


def failures(counts: Mapping[str, int]) -> int:
    """Returns the number of rejected records."""
    return sum(n for word, n in counts.items() if Outcome[word.upper()] >= Outcome.DAMAGED)


def summary(counts: Mapping[str, int]) -> str:
    """Returns the counts in words: `3 records: 2 upgraded, 1 damaged`."""
    parts = [f"{counts[o.word]:,} {o.word}" for o in Outcome if counts.get(o.word)]
    total = sum(counts.values())
    return f"{total:,} record{'' if total == 1 else 's'}: {', '.join(parts) or 'none'}"


def duration(seconds: float) -> str:
    """Returns a duration as hours, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


class Report:
    """Reports the state of a run on standard error and in a file of metrics."""

    interval = 5.0

    def __init__(self, json_log: bool = False, progress: bool = False, metrics: str = "") -> None:
        self.json_log, self.progress, self.metrics = json_log, progress, metrics
        self.run, self.operation, self.total = "", "", 0
        self.usage = Usage()
        self._began = self._next = time.monotonic()
        self._line, self._rejects = False, 0

    def begin(self, run: str, operation: str, total: int, skipped: int, workers: int) -> None:
        """Names the run. `total` is 0 if the number of records is not known."""
        self.run, self.operation, self.total = run, operation, total
        self.usage = Usage(skipped=skipped)
        self._began = time.monotonic()
        self.log("began", run=run, operation=operation, total=total, done=skipped, workers=workers)

    def log(self, event: str, **fields: object) -> None:
        """Writes an event to standard error: a line of JSON, or text."""
        if self._line:
            print(file=sys.stderr)
            self._line = False
        if self.json_log:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = json.dumps({"time": moment, "event": event, **fields}, ensure_ascii=False)
        else:
            line = " ".join([event, *(f"{name}={value}" for name, value in fields.items())])
        print(line, file=sys.stderr, flush=True)

    def reject(self, key: str, outcome: str, message: str) -> None:
        """Logs a rejected record. The manifest has all, the log the first twenty."""
        self._rejects += 1
        if self._rejects <= 20:
            self.log("rejected", key=key, outcome=outcome, message=message)

    def add(self, usage: Usage) -> None:
        """Counts records, and reports them if the last report is old enough."""
        self.usage.add(usage)
        terminal = not self.json_log and sys.stderr.isatty()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + (0.5 if terminal else self.interval)
            self._report(terminal)

    def end(self, state: str) -> None:
        """Writes the last metrics and the event of the end."""
        self._write_metrics(state)
        usage = self.usage
        counts = dict(usage.counts)
        seconds = round(time.monotonic() - self._began, 3)
        self.log(
            state, run=self.run, seconds=seconds, cpu=round(usage.cpu, 3), restarts=usage.restarts,
            bytes_read=usage.bytes_read, bytes_written=usage.bytes_written, counts=counts, skipped=usage.skipped,
        )  # fmt: skip

    def _report(self, terminal: bool) -> None:
        self._write_metrics("running")
        if not self.progress:
            return
        done = self.usage.records + self.usage.skipped
        rate = self.usage.records / max(time.monotonic() - self._began, 1e-9)
        left = (self.total - done) / rate if rate and self.total > done else 0.0
        percent = 100 * done / self.total if self.total else 0.0
        if not terminal:
            self.log("progress", percent=round(percent, 1), done=done, total=self.total,
                     rate=round(rate), left=duration(left))  # fmt: skip
            return
        line = f"{percent:5.1f} %  {done:,} of {self.total:,}  {rate:,.0f}/s  {duration(left)} left"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        self._line = True

    def _write_metrics(self, state: str) -> None:
        if not self.metrics:
            return
        usage, labels = self.usage, f'run="{self.run}",operation="{self.operation}"'
        rows = [("records_total", f',outcome="{w}"', n) for w, n in sorted(usage.counts.items())]
        values: list[tuple[str, str, float]] = [
            *rows,
            ("read_bytes_total", "", usage.bytes_read),
            ("written_bytes_total", "", usage.bytes_written),
            ("worker_restarts_total", "", usage.restarts),
            ("worker_cpu_seconds_total", "", round(usage.cpu, 3)),
            ("run_seconds", "", round(time.monotonic() - self._began, 3)),
            ("run_records", "", self.total),
            ("run_records_done", "", usage.records + usage.skipped),
            ("run_complete", "", int(state == "finished")),
            ("run_failed", "", int(state == "failed")),
        ]
        lines, named = [], set()
        for name, more, value in values:
            if name not in named:
                kind = "counter" if name.endswith("_total") else "gauge"
                lines.append(f"# TYPE strata_{name} {kind}")
            named.add(name)
            lines.append(f"strata_{name}{{{labels}{more}}} {value}")
        # The collector of node_exporter must never read half a file.
        part = f"{self.metrics}.part"
        try:
            with open(part, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            os.replace(part, self.metrics)
        except OSError as error:
            self.log("warning", message=f"cannot write {self.metrics}: {error.strerror}")
            self.metrics = ""
