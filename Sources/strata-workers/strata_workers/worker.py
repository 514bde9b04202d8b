"""Starts and supervises a worker process of an app's tool."""

import fcntl
import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .protocol import VERSION, Answer, Outcome, ProtocolError, Request, decode, encode

_PIECE = 1 << 16
_PIPE = 1 << 20
_START_ATTEMPTS = 3


class WorkerError(Exception):
    """A worker cannot be started, or ends again and again."""


class _Ended(Exception):
    """The process ended, gave no answer in time, or wrote something other than an answer."""

    def __init__(self, outcome: Outcome, problem: str) -> None:
        super().__init__(problem)
        self.outcome = outcome


class _Entry:
    """A request without an answer. `refusal` is the driver's own answer, if it has one."""

    __slots__ = ("request", "length", "refusal")

    def __init__(self, request: Request, length: int, refusal: Answer | None) -> None:
        self.request, self.length, self.refusal = request, length, refusal


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
        self.command = list(command)
        self.max_frame = max_frame
        self.window = window
        self.timeout = timeout
        self.max_restarts = max_restarts
        self.greeting: dict[str, Any] = {}
        self.restarts = 0
        self._in_a_row = 0
        self._finished_cpu = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._clear()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self.close(kill=kind is not None)

    @property
    def pid(self) -> int | None:
        """The identifier of the running process."""
        return self._process.pid if self._process else None

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all processes that this worker started, in seconds."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            live = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            live = 0.0
        return self._finished_cpu + live

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
                    entry = self._entry(request, length)
                    queue.append(entry)
                    unanswered += entry.length
                    self._send(entry, buffers)
                    sent += 1
                if single and not sent:
                    self._send(queue[0], encode(queue[0].request)[1])
                    sent = 1
                if not queue:
                    return
                answer: Answer | None
                answers: list[Answer] = []
                if (answer := queue[0].refusal) is not None:
                    answers.append(answer)
                else:
                    try:
                        answers = _in_order(self._receive(), islice(queue, sent))
                    except _Ended as end:
                        message = self._end(end)
                        if single:
                            details: dict[str, object] = {"code": end.outcome.word}
                            details["message"] = message
                            number = queue[0].request.number
                            answers = [Answer(number, end.outcome, details=details)]
                        else:
                            answers, single, sent = [], len(queue), 0
                        self._restart(message)
                for answer in answers:
                    unanswered -= queue.popleft().length
                    sent -= 1
                    single = max(0, single - 1)
                    yield answer
        finally:
            if queue:
                self.close(kill=True)

    def close(self, kill: bool = False) -> int | None:
        """Ends the process and returns its exit status, or None if it is not running.

        Without `kill`, the process has `timeout` seconds to end after its input is closed.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        assert process.stdin and process.stdout and process.stderr
        process.stdin.close()
        limit = time.monotonic() + (0 if kill else min(self.timeout, 5))
        while True:
            if kill or time.monotonic() > limit:
                kill = True
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            pid, status, usage = os.wait4(process.pid, 0 if kill else os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        self._finished_cpu += usage.ru_utime + usage.ru_stime
        self._selector.close()
        process.stdout.close()
        process.stderr.close()
        self._clear()
        return process.returncode

    def _clear(self) -> None:
        self._out: deque[bytes | memoryview] = deque()
        self._small = bytearray()
        self._in = bytearray()
        self._errors = b""

    def _entry(self, request: Request, length: int) -> _Entry:
        limit = min(self.max_frame, int(self.greeting.get("maxFrame", self.max_frame)))
        if length <= limit:
            return _Entry(request, length, None)
        message = f"the request has {length:,} bytes, and the limit is {limit:,}; raise --max-frame"
        details: dict[str, object] = {"code": "limitExceeded", "message": message}
        refusal = Answer(request.number, Outcome.UNSUPPORTED, details=details)
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
            try:
                self._write()
            except OSError:
                pass  # `_receive` reports that the process has ended.

    def _flush_small(self) -> None:
        if self._small:
            self._out.append(bytes(self._small))
            self._small.clear()

    def _write(self) -> None:
        assert self._process and self._process.stdin
        while self._out:
            piece = self._out[0]
            try:
                count = os.write(self._process.stdin.fileno(), piece)
            except BlockingIOError:
                return
            self._out.popleft()
            if count < len(piece):
                self._out.appendleft(memoryview(piece)[count:])

    def _receive(self) -> list[Answer]:
        """Writes and reads until at least one answer has been received. Returns all of them."""
        self._flush_small()
        limit = time.monotonic() + self.timeout
        while True:
            answers = []
            for frame in self._frames():
                try:
                    answers.append(decode(frame))
                except ProtocolError as error:
                    raise _Ended(Outcome.CRASHED, _not_an_answer(str(error))) from error
            if answers:
                self._in_a_row = 0
                return answers
            self._exchange(limit)

    def _frames(self) -> list[memoryview]:
        """Removes the complete frames from the received bytes."""
        frames, offset = [], 0
        if len(self._in) < 4:
            return []
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
        process = self._process
        assert process and process.stdin and process.stdout and process.stderr
        wanted = bool(self._out)
        if wanted != (self._selector.get_map().get(process.stdin.fileno()) is not None):
            if wanted:
                self._selector.register(process.stdin, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(process.stdin)
        events = self._selector.select(max(0.0, limit - time.monotonic()))
        if not events and time.monotonic() >= limit:
            problem = f"the worker gave no answer within {self.timeout:g} s"
            raise _Ended(Outcome.HUNG, problem)
        for key, _ in events:
            if key.fileobj is process.stdin:
                try:
                    self._write()
                except OSError:
                    # The process has ended. Its last answers may still be in the other pipe.
                    self._out.clear()
            elif key.fileobj is process.stderr:
                piece = os.read(key.fd, _PIECE)
                self._errors = (self._errors + piece)[-4096:]
                if not piece:
                    self._selector.unregister(process.stderr)
            else:
                piece = os.read(key.fd, _PIPE)
                if not piece:
                    raise _Ended(Outcome.CRASHED, "")
                self._in += piece

    def _last_error(self) -> str:
        """The last line of standard error, including what the process wrote before it ended."""
        assert self._process and self._process.stderr
        os.set_blocking(self._process.stderr.fileno(), False)
        try:
            while piece := os.read(self._process.stderr.fileno(), _PIECE):
                self._errors = (self._errors + piece)[-4096:]
        except OSError:
            pass
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:400] if lines else ""

    def _end(self, end: _Ended) -> str:
        """Ends the process and returns a sentence with the reason."""
        assert self._process
        problem = str(end)
        if not problem:
            # Standard output is closed. The process has a moment to end by itself.
            limit = time.monotonic() + 2
            while time.monotonic() < limit:
                if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break
                time.sleep(0.005)
        last = self._last_error()
        status = self.close(kill=True)
        if not problem:
            problem = f"the worker ended with {_status(status or 0)}"
        return f"{problem}: {last}" if last else problem

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
        if self._process is not None:
            return
        for attempt in range(_START_ATTEMPTS):
            try:
                return self._start_once()
            except WorkerError:
                self.close(kill=True)
                # A first start that fails is not repeated, because the program is at fault.
                if not self.greeting or attempt == _START_ATTEMPTS - 1:
                    raise
                time.sleep(0.1 * 4**attempt)

    def _start_once(self) -> None:
        program = self.command[0]
        # The runtime of Swift would spend seconds on a backtrace of each crash.
        environment = {"SWIFT_BACKTRACE": "enable=no"} | dict(os.environ)
        try:
            process = self._process = subprocess.Popen(
                self.command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
            )
        except OSError as error:
            raise WorkerError(
                f"cannot start {program}: {error.strerror}. Pass the path of your app's tool."
            ) from error
        assert process.stdin and process.stdout and process.stderr
        for pipe in (process.stdin, process.stdout):
            os.set_blocking(pipe.fileno(), False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                try:
                    fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
                except OSError:
                    pass
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)
        self._selector.register(process.stderr, selectors.EVENT_READ)
        self._greet(program)

    def _greet(self, program: str) -> None:
        limit = time.monotonic() + max(self.timeout, 10)
        not_a_worker = f"{program} is not a worker"
        remedy = "Pass an app's tool that has the command `worker`."
        try:
            while not (frames := self._frames()):
                self._exchange(limit)
        except _Ended as end:
            if end.outcome is Outcome.HUNG:
                raise WorkerError(f"{not_a_worker}: it sent no greeting. {remedy}") from end
            if str(end):
                reason = "its output does not begin with a greeting"
                raise WorkerError(f"{not_a_worker}: {reason}. {remedy}") from end
            raise WorkerError(f"{not_a_worker}: {self._end(end)}. {remedy}") from end
        try:
            greeting = json.loads(bytes(frames[0]))
            version = greeting["protocol"]
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"{not_a_worker}: its greeting is not JSON. {remedy}") from error
        if version != VERSION:
            raise WorkerError(
                f"{program} speaks version {version} of the protocol, and this package speaks"
                f" version {VERSION}. Use the package of the tool's version of Strata."
            )
        self.greeting = greeting


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
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
