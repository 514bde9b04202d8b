"""Starts and supervises a worker process of an app's tool."""

import fcntl
import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from .protocol import VERSION, Answer, Outcome, ProtocolError, Request, decode, encode

_PIECE = 1 << 16
_PIPE = 1 << 20
_REMEDY = "Pass an app's tool that has the command `worker`."


class WorkerError(Exception):
    """A worker cannot be started, or ends again and again."""


class _Ended(Exception):
    """The process ended, gave no answer in time, or wrote something other than an answer."""

    def __init__(self, outcome: Outcome, problem: str = "") -> None:
        super().__init__(problem)
        self.outcome = outcome


class _Entry(NamedTuple):
    """A request without an answer. `refusal` is the driver's own answer, if it has one."""

    request: Request
    length: int
    refusal: Answer | None = None


def worker_command(tool: str, max_frame: int = 64 << 20, options: Sequence[str] = ()) -> list[str]:
    """Returns the command that starts a worker of an app's tool."""
    # Without a slash, a program is searched for in PATH only. A tool in the current folder counts.
    if os.sep not in tool and os.path.isfile(tool):
        tool = os.path.join(os.curdir, tool)
    return [tool, "worker", "--protocol", str(VERSION), "--max-frame", str(max_frame), *options]


class Worker:
    """A worker process, which is restarted if a request ends it.

    - `max_frame`: the longest request that is sent.
    - `window`: the number of bytes that may be unanswered. One longer request may be, too.
    - `timeout`: the seconds without an answer after which the process counts as hung.
    - `max_restarts`: the number of restarts in a row, without an answer between them.

    Raises: `WorkerError` from the context manager and `run` if the program is not a worker.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        max_frame: int = 64 << 20,
        window: int = 1 << 20,
        timeout: float = 60.0,
        max_restarts: int = 100,
    ) -> None:
        self.command, self.max_frame, self.window = list(command), max_frame, window
        self.timeout, self.max_restarts = timeout, max_restarts
        self.greeting: dict[str, Any] = {}
        self.restarts = 0
        self._in_a_row = 0
        self._finished_cpu = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._in, self._errors = bytearray(), b""
        self._stderr: int | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(kill=kind is not None)

    @property
    def pid(self) -> int | None:
        """The identifier of the running process."""
        return self._process.pid if self._process else None

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all processes that this worker started, in seconds."""
        with suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            ticks = int(fields[11]) + int(fields[12])
            return self._finished_cpu + ticks / os.sysconf("SC_CLK_TCK")
        return self._finished_cpu

    def run(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Sends requests and yields their answers in order, while it reads further requests.

        Raises: `WorkerError` if the process cannot be restarted.
        """
        source: Iterator[Request] | None = iter(requests)
        queue: deque[_Entry] = deque()
        sent = 0  # The number of entries of the queue that are on their way.
        single = 0  # The number of entries at the front that are sent one at a time.
        unanswered = 0
        try:
            while True:
                while source and not single and (unanswered < self.window or not queue):
                    request = next(source, None)
                    if request is None:
                        source = None
                        break
                    length, buffers = encode(request)
                    queue.append(entry := self._entry(request, length))
                    unanswered += entry.length
                    self._send(entry, buffers)
                    sent += 1
                if not queue:
                    return
                if single and not sent:
                    self._send(queue[0], encode(queue[0].request)[1])
                    sent = 1
                answers = []
                try:
                    refusal, entries = queue[0].refusal, islice(queue, sent)
                    answers = [refusal] if refusal else _in_order(self._receive(), entries)
                except _Ended as end:
                    message = self._end(end)
                    if single:
                        answers.append(_failed(queue[0].request, end.outcome, "", message))
                    else:
                        single, sent = len(queue), 0
                    self._restart(message)
                for answer in answers:
                    unanswered -= queue.popleft().length
                    sent -= 1
                    single = max(0, single - 1)
                    yield answer
        finally:
            if queue:
                self.close(kill=True)

    def close(self, kill: bool = False) -> int:
        """Ends the process, if it runs, and returns its exit status.

        Without `kill`, the process has five seconds to end after its input is closed.
        """
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin and process.stdout and process.stderr
        process.stdin.close()
        limit = time.monotonic() + 5
        while True:
            kill = kill or time.monotonic() > limit
            if kill:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            pid, status, usage = os.wait4(process.pid, 0 if kill else os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        self._finished_cpu += usage.ru_utime + usage.ru_stime
        process.stdout.close()
        process.stderr.close()
        return process.returncode

    def _entry(self, request: Request, length: int) -> _Entry:
        limit = min(self.max_frame, int(self.greeting.get("maxFrame", self.max_frame)))
        if length <= limit:
            return _Entry(request, length)
        message = f"the request has {length:,} bytes, and the limit is {limit:,}; raise --max-frame"
        refusal = _failed(request, Outcome.UNSUPPORTED, "limitExceeded", message)
        return _Entry(Request(request.number, request.operation, ()), 0, refusal)

    def _send(self, entry: _Entry, buffers: list[bytes | memoryview]) -> None:
        """Queues the bytes of a request. Small requests share a write."""
        if entry.refusal:
            return
        if self._process is None:
            self._start()
        if entry.length < _PIECE:
            self._small += b"".join(buffers)
        else:
            self._flush_small()
            self._out.extend(memoryview(b).cast("B") for b in buffers if len(b))
        if len(self._small) >= _PIECE:
            self._flush_small()
            self._write()

    def _flush_small(self) -> None:
        if self._small:
            self._out.append(bytes(self._small))
            self._small.clear()

    def _write(self) -> None:
        """Writes as much as the pipe takes."""
        try:
            while self._out:
                piece = self._out.popleft()
                count = 0
                try:
                    count = os.write(self._stdin, piece)
                finally:
                    if count < len(piece):
                        self._out.appendleft(memoryview(piece)[count:])
        except BlockingIOError:
            pass
        except OSError:
            # The process has ended. Its last answers may still be in the other pipe.
            self._out.clear()

    def _receive(self) -> list[Answer]:
        """Writes and reads until at least one answer has been received. Returns all of them."""
        self._flush_small()
        limit = time.monotonic() + self.timeout
        while not (frames := self._frames()):
            self._exchange(limit)
        try:
            answers = [decode(frame) for frame in frames]
        except ProtocolError as error:
            raise _Ended(Outcome.CRASHED, _not_an_answer(str(error))) from error
        self._in_a_row = 0
        return answers

    def _frames(self) -> list[memoryview]:
        """Removes the complete frames from the received bytes."""
        frames, offset = [], 0
        while offset + 4 <= len(self._in):
            length = int.from_bytes(self._in[offset : offset + 4], "little")
            if length > max(self.max_frame, _PIPE):
                raise _Ended(Outcome.CRASHED, _not_an_answer(f"a frame of {length:,} bytes"))
            if offset + 4 + length > len(self._in):
                break
            frames.append((offset + 4, length))
            offset += 4 + length
        if not frames:
            return []
        received = memoryview(self._in)
        self._in = self._in[offset:]
        return [received[start : start + length] for start, length in frames]

    def _exchange(self, limit: float) -> None:
        """Waits until the process reads or writes, and moves bytes in both directions."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if self._stderr is not None:
            poll.register(self._stderr, select.POLLIN)
        if self._out:
            poll.register(self._stdin, select.POLLOUT)
        events = poll.poll(max(0.0, limit - time.monotonic()) * 1000)
        if not events and time.monotonic() >= limit:
            raise _Ended(Outcome.HUNG, f"the worker gave no answer within {self.timeout:g} s")
        for descriptor, _ in events:
            if descriptor == self._stdin:
                self._write()
            elif descriptor == self._stderr:
                self._read_errors()
            elif piece := os.read(self._stdout, _PIPE):
                self._in += piece
            else:
                raise _Ended(Outcome.CRASHED)

    def _read_errors(self) -> None:
        """Keeps the end of what the process has written to standard error."""
        with suppress(BlockingIOError):
            while self._stderr is not None:
                piece = os.read(self._stderr, _PIECE)
                self._errors = (self._errors + piece)[-4096:]
                if not piece:
                    self._stderr = None

    def _end(self, end: _Ended) -> str:
        """Ends the process and returns a sentence with the reason."""
        problem = str(end)
        if not problem:  # Standard output is closed. The process has a moment to end by itself.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            limit = time.monotonic() + 2
            while not os.waitid(os.P_PID, self.pid or 0, options) and time.monotonic() < limit:
                time.sleep(0.005)
        self._read_errors()
        status = self.close(kill=True)
        lines = self._errors.decode(errors="replace").strip().splitlines()
        problem = problem or f"the worker ended with {_status(status)}"
        return f"{problem}: {lines[-1].strip()[:400]}" if lines else problem

    def _restart(self, reason: str) -> None:
        self.restarts += 1
        self._in_a_row += 1
        if self._in_a_row > self.max_restarts:
            raise WorkerError(
                f"{self.command[0]} was restarted {self.max_restarts} times without an answer."
                f" The last reason: {reason}"
            )
        self._start()

    def _start(self) -> None:
        program, pipe = self.command[0], subprocess.PIPE
        # The runtime of Swift would spend seconds on a backtrace of each crash.
        environment = {"SWIFT_BACKTRACE": "enable=no"} | dict(os.environ)
        try:
            process = subprocess.Popen(
                self.command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe,
                start_new_session=True, env=environment,
            )  # fmt: skip
        except OSError as error:
            reason = f"cannot start {program}: {error.strerror}"
            raise WorkerError(f"{reason}. Pass the path of your app's tool.") from error
        assert process.stdin and process.stdout and process.stderr
        self._process, self._stdin = process, process.stdin.fileno()
        self._stdout = process.stdout.fileno()
        self._stderr = process.stderr.fileno()
        for descriptor in (self._stdin, self._stdout, process.stderr.fileno()):
            os.set_blocking(descriptor, False)
            with suppress(OSError, AttributeError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
        self._out: deque[bytes | memoryview] = deque()
        self._small, self._in, self._errors = bytearray(), bytearray(), b""
        try:
            self._greet()
        except WorkerError as error:
            self.close(kill=True)
            raise WorkerError(f"{program} {error}") from error

    def _greet(self) -> None:
        """Reads the greeting of the process and checks its version of the protocol."""
        limit = time.monotonic() + max(self.timeout, 10)
        try:
            while not (frames := self._frames()):
                self._exchange(limit)
            greeting = json.loads(bytes(frames[0]))
            version = greeting["protocol"]
        except _Ended as end:
            reason = "its output does not begin with a greeting" if str(end) else self._end(end)
            if end.outcome is Outcome.HUNG:
                reason = "it sent no greeting"
            raise WorkerError(f"is not a worker: {reason}. {_REMEDY}") from end
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"is not a worker: its greeting is not JSON. {_REMEDY}") from error
        if version != VERSION:
            raise WorkerError(
                f"speaks version {version} of the protocol, and this package speaks version"
                f" {VERSION}. Use the package of the tool's version of Strata."
            )
        self.greeting = greeting


def _failed(request: Request, outcome: Outcome, code: str, message: str) -> Answer:
    """Returns an answer of the driver itself."""
    details: dict[str, object] = {"code": code or outcome.word, "message": message}
    return Answer(request.number, outcome, details=details)


def _in_order(answers: list[Answer], entries: Iterator[_Entry]) -> list[Answer]:
    """Returns the answers together with the driver's own ones, in the order of the requests."""
    result = []
    for answer in answers:
        entry = next(entries, None)
        while entry and entry.refusal:
            result.append(entry.refusal)
            entry = next(entries, None)
        if entry is None or entry.request.number != answer.number:
            raise _Ended(Outcome.CRASHED, _not_an_answer("the number of another request"))
        result.append(answer)
    return result


def _not_an_answer(reason: str) -> str:
    return (
        f"the worker wrote something other than an answer to its standard output ({reason});"
        " steps and hooks must print to standard error"
    )


def _status(status: int) -> str:
    """Names an exit status or a signal."""
    with suppress(ValueError):
        return f"signal {-status} ({signal.Signals(-status).name})"
    return f"exit status {status}"
