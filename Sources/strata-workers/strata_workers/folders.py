"""Runs a job over the files of a folder."""

import os
import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import blake2b
from heapq import nsmallest
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from .manifest import Item, Job, Manifest, Record, RunError, UsageError, checksum, models
from .metrics import Report, Usage
from .protocol import Answer, Operation, Outcome, Range, refusal

_PIECE = 1 << 20
_OWN = re.compile(r"\.strata-run-|\..*\.strata-part$")


class File(NamedTuple):
    """A file, or a member of a stream with an index."""

    key: str
    path: str
    output: str
    member: Range | None = None
    problem: str = ""


class Folders:
    """The folders of a job. Each thread of a run has a worker, one thread writes the manifest.

    Raises: `UsageError` if one folder is inside another one.
    """

    def __init__(self, job: Job, source: str, target: str) -> None:
        self.job, self.source, self.target = job, os.path.realpath(source), os.path.realpath(target)
        self._lock, self._stopped = threading.Lock(), False
        # The records of written files, with the bytes read and written, and None for finished ones.
        self._done = SimpleQueue[tuple[Record | None, int, int]]()
        if not os.path.isdir(self.source):
            raise UsageError(f"{source} is not a folder")
        if os.path.commonpath([self.source, self.target]) in (self.source, self.target):
            raise UsageError("the input and the output folder must not contain each other")

    def run(self, report: Report, run: str, retry: bool, overwrite: bool) -> dict[str, int]:
        """Handles all files that the manifest does not have.

        Returns the number of records with each outcome.

        Raises: `RunError`, `WorkerError`, or `OSError` for the output folder.
        """
        target, name = self.target, self.job.operation.name.lower()
        if os.sep in run:
            raise UsageError("the name of a run must not contain a slash")
        with self.job.worker() as worker:
            self.job = job = replace(self.job, greeting=worker.greeting)
        os.makedirs(target, exist_ok=True)
        path = os.path.join(target, f".strata-run-{run}.sqlite")
        if not overwrite and not os.path.exists(path) and os.listdir(target):
            text = f"{target} has files and no manifest of run {run}; name an empty folder, or pass"
            raise UsageError(f"{text} --overwrite to replace the files of the same names")
        with closing(Manifest(path, run, name, self.source, models(worker.greeting))) as manifest:
            total = sum(1 for _ in self.files()) if report.progress or report.metrics else 0
            report.begin(run, name, total, 0, job.workers)
            with ThreadPoolExecutor(job.workers) as pool:
                files = self.files()
                threads = [pool.submit(self._work, files, manifest, retry)
                           for _ in range(job.workers)]  # fmt: skip
                try:
                    while wait(threads, timeout=0.1, return_when=FIRST_EXCEPTION).not_done:
                        self._save(manifest, report)
                        if any(thread.done() and thread.exception() for thread in threads):
                            break
                finally:
                    self._stopped = True
            self._save(manifest, report)
            for thread in threads:
                report.add(thread.result())
            return manifest.finish()

    def sample(self, size: int) -> tuple[Usage, int]:
        """Handles random files without writing. Returns their usage, and the number of all."""
        draw, numbers, usage = random.Random(0), count(), Usage()
        numbered = zip(self.files(), numbers)
        chosen = [file for file, _ in nsmallest(size, numbered, key=lambda _: draw.random())]
        with self.job.worker() as worker, usage.measure(worker):
            for item, answer, new in self.job.run(worker, map(self._read, chosen)):
                usage.count(new.outcome, len(item.data or b""), len(_output(item, answer) or b""))
        return usage, next(numbers)

    def files(self) -> Iterator[File]:
        """Yields the files in the order of their paths, and the members of indexed streams.

        Files that a run itself writes, such as its manifest, are left out.
        """
        suffix = ".strata" if self.job.operation is Operation.CONVERT else ""
        errors = list[OSError]()
        for folder, folders, files in os.walk(self.source, onerror=errors.append):
            folders.sort()
            names = {name for name in files if not _OWN.match(name)}
            for name in sorted(names):
                path = os.path.join(folder, name)
                key = os.path.relpath(path, self.source)
                is_index = name.endswith(".index") and name[:-6] in names
                if is_index or os.path.islink(path) or not os.path.isfile(path):
                    continue
                if not key.isprintable() and key.encode(errors="replace").decode() != key:
                    yield File(ascii(key), path, "", problem="the name of the file is not UTF-8")
                elif name + ".index" in names:
                    yield from self._members(key, path)
                else:
                    yield File(key, path, os.path.join(self.target, key) + suffix)
        for error in errors:
            key, problem = os.path.relpath(error.filename, self.source), str(error.strerror)
            yield File(key, error.filename, "", problem=f"cannot list the folder: {problem}")

    def _members(self, key: str, path: str) -> Iterator[File]:
        try:
            with open(path + ".index", encoding="utf-8") as index:
                head = next(index, "").rstrip("\n").split("\t")
                size = os.path.getsize(path)
                if head[:2] != ["strata-index", "1"] or int(head[4]) != size:
                    raise ValueError
                for number, line in enumerate(index):
                    offset, length = (int(text) for text in line.split("\t")[:2])
                    if not 0 <= offset < offset + length <= size:
                        raise ValueError
                    output = os.path.join(self.target, key, f"{number:08}.strata")
                    yield File(f"{key}#{number}", path, output, Range(path, offset, length))
        except (OSError, ValueError, IndexError):
            problem = "its index is not an index of this stream; repeat `strata index`"
            yield File(key, path, "", problem=problem)

    def _read(self, file: File) -> Item:
        """Returns the bytes of a file or a member, or the reason why they are not sent."""
        outcome, message, code, before = Outcome.UNREADABLE, file.problem, "", ""
        try:
            if not message:
                with open(file.path, "rb") as stream:
                    size = file.member.length if file.member else os.stat(stream.fileno()).st_size
                    stream.seek(file.member.offset if file.member else 0)
                    if size <= self.job.max_frame:
                        data = stream.read(size)
                        others = [Path(other, file.key).read_bytes() for other in self.job.others]
                        item = self.job.item(file.key, [data, *others], file.member, file.output)
                        # A repeated run merges again if any of the files has changed.
                        return item._replace(before="+".join(map(checksum, (data, *others))))
                    outcome, code = Outcome.UNSUPPORTED, "limitExceeded"
                    message = f"the file has {size:,} bytes; raise --max-frame"
                    digest = blake2b(digest_size=16)
                    for left in range(size, 0, -_PIECE):
                        digest.update(stream.read(min(left, _PIECE)))
                    before = digest.hexdigest()
        except OSError as error:
            message = f"cannot read {error.filename or file.path}: {error.strerror}"
        return Item(file.key, None, before, refusal=refusal(outcome, message, code))

    def _write(self, path: str, data: bytes | memoryview) -> None:
        """Replaces an output file in one step."""
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        if os.path.commonpath([os.path.realpath(folder), self.target]) != self.target:
            raise RunError(f"{folder} is a link out of the output folder")
        part = Path(folder, f".{name}.strata-part")
        try:
            part.write_bytes(data)
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def _save(self, manifest: Manifest, report: Report) -> None:
        usage, records = Usage(), list[Record]()
        for _ in range(self._done.qsize()):
            new, *sizes = self._done.get()
            if new is None:
                usage.skipped += 1
            else:
                records.append(new)
                usage.count(new.outcome, *sizes)
        if any(new.after for new in records):
            # One call for many files, because a call for each takes milliseconds. The manifest has
            # no record of a file that is not on the disk.
            os.sync()
        manifest.add(records)
        report.add(usage, records)

    def _finished(self, item: Item, manifest: Manifest, retry: bool) -> bool:
        """Whether the manifest has a record of these bytes, and the output has its checksum."""
        old = manifest.find(item.key)
        if old is None or old.before != item.before or (old.failed and retry):
            return False
        with suppress(OSError):
            return not old.after or checksum(Path(item.output).read_bytes()) == old.after
        return False

    def _work(self, files: Iterator[File], manifest: Manifest, retry: bool) -> Usage:
        worker, usage = self.job.worker(), Usage()
        with usage.measure(worker), worker:
            for item, answer, new in self.job.run(worker, self._items(files, manifest, retry)):
                if (output := _output(item, answer)) is not None:
                    self._write(item.output, output)
                self._done.put((new, len(item.data or b""), len(output or b"")))
        return usage

    def _items(self, files: Iterator[File], manifest: Manifest, retry: bool) -> Iterator[Item]:
        while not self._stopped:
            with self._lock:
                file = next(files, None)
            if file is None:
                return
            item = self._read(file)
            if self._finished(item, manifest, retry):
                self._done.put((None, 0, 0))
            else:
                yield item


def _output(item: Item, answer: Answer) -> bytes | memoryview | None:
    """Returns the bytes of the output file. A current archive is copied."""
    return item.data if answer.outcome is Outcome.CURRENT else answer.archive
