"""Runs a job over the files of a folder."""

import os
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from hashlib import blake2b, file_digest
from itertools import count
from pathlib import Path
from typing import NamedTuple

from .manifest import (
    Job,
    Manifest,
    Record,
    RunError,
    UsageError,
    checksum,
    models,
    record,
    rejected,
)
from .metrics import Report, Usage
from .protocol import Operation, Outcome, Part, Range, Request


class Item(NamedTuple):
    """A file, or a member of a stream with an index."""

    key: str
    path: str
    output: str
    member: Range | None = None
    problem: str = ""


class Folders:
    """The folders of a run. `others` have the server's and the base archives of a merge.

    Raises: `UsageError` if one folder is inside another one.
    """

    def __init__(self, job: Job, source: str, target: str, others: tuple[str, ...] = ()) -> None:
        self.job, self.source, self.target = job, os.path.realpath(source), os.path.realpath(target)
        self.others = others
        if not os.path.isdir(self.source):
            raise UsageError(f"{source} is not a folder")
        if os.path.commonpath([self.source, self.target]) in (self.source, self.target):
            raise UsageError("the input and the output folder must not contain each other")

    def items(self) -> Iterator[Item]:
        """Yields the files in the order of their paths, and the members of indexed streams."""
        suffix = ".strata" if self.job.operation is Operation.CONVERT else ""
        for folder, folders, files in os.walk(self.source):
            folders.sort()
            names = set(files)
            for name in sorted(files):
                path = os.path.join(folder, name)
                key = os.path.relpath(path, self.source)
                if os.path.islink(path) or (name.endswith(".index") and name[:-6] in names):
                    continue
                if not key.isprintable() and key.encode(errors="replace").decode() != key:
                    yield Item(ascii(key), path, "", problem="the name of the file is not UTF-8")
                elif name + ".index" in names:
                    yield from self._members(key, path)
                else:
                    yield Item(key, path, os.path.join(self.target, key) + suffix)

    def _members(self, key: str, path: str) -> Iterator[Item]:
        try:
            with open(path + ".index", encoding="utf-8") as index:
                head = next(index, "").rstrip("\n").split("\t")
                if head[:2] != ["strata-index", "1"] or int(head[4]) != os.path.getsize(path):
                    raise ValueError
                for number, line in enumerate(index):
                    offset, length = (int(text) for text in line.split("\t")[:2])
                    output = os.path.join(self.target, key, f"{number:08}.strata")
                    yield Item(f"{key}#{number}", path, output, Range(path, offset, length))
        except (OSError, ValueError, IndexError):
            problem = "its index is not an index of this stream; repeat `strata index`"
            yield Item(key, path, "", problem=problem)

    def read(self, item: Item) -> tuple[bytes, str, tuple[Part, ...]] | Record:
        """Returns the bytes of an item, their checksum and the parts of its request."""
        code, message, outcome, before = "unreadable", item.problem, Outcome.UNREADABLE, ""
        try:
            if not message:
                with open(item.path, "rb") as file:
                    size = item.member.length if item.member else os.fstat(file.fileno()).st_size
                    if size <= self.job.max_frame:
                        file.seek(item.member.offset if item.member else 0)
                        data = file.read(size)
                        more = [Path(o, item.key).read_bytes() for o in self.others]
                        return data, checksum(data), (item.member or data, *more, *self.job.suffix)
                    code, outcome = "limitExceeded", Outcome.UNSUPPORTED
                    before = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
                    message = f"the file has {size:,} bytes; raise --max-frame"
        except OSError as error:
            message = f"cannot read {error.filename or item.path}: {error.strerror}"
        return rejected(item.key, outcome, code, message, before)

    def write(self, item: Item, data: bytes) -> None:
        """Replaces the output file of an item in one step."""
        folder, name = os.path.split(item.output)
        os.makedirs(folder, exist_ok=True)
        if os.path.commonpath([os.path.realpath(folder), self.target]) != self.target:
            raise RunError(f"{folder} is a link out of the output folder")
        part = os.path.join(folder, f".{name}.strata-part")
        try:
            with open(part, "wb") as file:
                file.write(data)
            os.replace(part, item.output)
        except OSError:
            Path(part).unlink(missing_ok=True)
            raise


class FolderRun:
    """One run. Each of its threads has a worker, and the calling thread writes the manifest."""

    def __init__(self, folders: Folders, manifest: Manifest, report: Report, retry: bool) -> None:
        self.folders, self.manifest, self.report, self.retry = folders, manifest, report, retry
        self._items, self._numbers, self._stopped = folders.items(), count(), False
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._usage = Usage()

    def run(self) -> None:
        """Handles all items that the manifest does not have.

        Raises: the first error of a thread.
        """
        workers = self.folders.job.workers
        with ThreadPoolExecutor(workers) as pool:
            threads = [pool.submit(self._work) for _ in range(workers)]
            try:
                while wait(threads, timeout=0.1, return_when=FIRST_EXCEPTION).not_done:
                    self._save()
                    if any(thread.done() and thread.exception() for thread in threads):
                        break
            finally:
                self._stopped = True
        self._save()
        for thread in threads:
            thread.result()

    def _save(self) -> None:
        with self._lock:
            records, self._records = self._records, []
            usage, self._usage = self._usage, Usage()
        if any(one.after for one in records):
            # One call for many files, because a call for each takes milliseconds. The manifest has
            # no record of a file that is not on the disk.
            os.sync()
        self.manifest.add(records)
        for one in filter(lambda one: one.failed, records):
            self.report.reject(one.key, one.outcome, one.message)
        self.report.add(usage)

    def _add(self, new: Record | None, usage: Usage) -> None:
        with self._lock:
            if new:
                self._records.append(new)
                usage.counts[new.outcome] += 1
            self._usage.add(usage)

    def _finished(self, item: Item, before: str) -> bool:
        """Whether the manifest has a record of these bytes, and the output has its checksum."""
        old = self.manifest.find(item.key)
        if old is None or old.before != before or (old.failed and self.retry):
            return False
        if not old.after or self.folders.job.operation is Operation.VERIFY:
            return True
        with suppress(OSError):
            return checksum(Path(item.output).read_bytes()) == old.after
        return False

    def _work(self) -> None:
        waiting: deque[tuple[Item, bytes, str]] = deque()
        with self.folders.job.worker() as worker:
            for answer in worker.run(self._requests(waiting)):
                item, data, before = waiting.popleft()
                new = record(item.key, answer, before)
                output = data if answer.outcome is Outcome.CURRENT else answer.archive
                usage = Usage(bytes_read=len(data))
                if output is not None and not new.failed:
                    self.folders.write(item, output)
                    usage.bytes_written = len(output)
                self._add(new, usage)
        self._add(None, Usage(cpu=worker.cpu_seconds, restarts=worker.restarts))

    def _requests(self, waiting: deque[tuple[Item, bytes, str]]) -> Iterator[Request]:
        while not self._stopped:
            with self._lock:
                item = next(self._items, None)
            if item is None:
                return
            content = self.folders.read(item)
            before = content.before if isinstance(content, Record) else content[1]
            if self._finished(item, before):
                self._add(None, Usage(skipped=1))
            elif isinstance(content, Record):
                self._add(content, Usage())
            else:
                waiting.append((item, content[0], before))
                yield Request(next(self._numbers), self.folders.job.operation, content[2])


def run_folders(
    folders: Folders, report: Report, run: str, retry: bool = False, overwrite: bool = False
) -> dict[str, int]:
    """Runs a job over a folder and returns the number of records with each outcome.

    Raises: `RunError`, `WorkerError`, or `OSError` for the output folder.
    """
    job, target, name = folders.job, folders.target, folders.job.operation.name.lower()
    with job.worker() as worker:
        greeting = models(worker.greeting)
    os.makedirs(target, exist_ok=True)
    path = os.path.join(target, f".strata-run-{run}.sqlite")
    if not overwrite and not os.path.exists(path) and os.listdir(target):
        raise UsageError(
            f"{target} has files and no manifest of run {run}; name an empty folder, or pass"
            " --overwrite to replace the files of the same names"
        )
    manifest = Manifest(path, run, name, folders.source, greeting)
    finished = False
    try:
        total = sum(1 for _ in folders.items()) if report.progress or report.metrics else 0
        report.begin(run, name, total, 0, job.workers)
        FolderRun(folders, manifest, report, retry).run()
        finished = True
        return manifest.counts()
    finally:
        manifest.close(finished)


def sample_folders(folders: Folders, size: int) -> tuple[Usage, int]:
    """Runs the job on random items without writing. Returns their usage, and the number of all."""
    draw, total = random.Random(0), 0
    chosen: list[Item] = []
    for total, item in enumerate(folders.items(), 1):
        if len(chosen) < size:
            chosen.append(item)
        elif (place := draw.randrange(total)) < size:
            chosen[place] = item
    usage = Usage()

    def requests() -> Iterator[Request]:
        for number, content in enumerate(map(folders.read, chosen)):
            if isinstance(content, Record):
                usage.counts[content.outcome] += 1
            else:
                usage.bytes_read += len(content[0])
                yield Request(number, folders.job.operation, content[2])

    with folders.job.worker() as worker:
        began = time.monotonic()
        for answer in worker.run(requests()):
            usage.counts[answer.outcome.word] += 1
            usage.bytes_written += len(answer.archive or b"")
        usage.seconds, usage.cpu = time.monotonic() - began, worker.cpu_seconds
    return usage, total
