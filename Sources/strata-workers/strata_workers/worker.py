"""Starts and supervises a worker process of an app's tool."""

import fcntl
import json
import os
import select
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple, Self

from .protocol import VERSION, Answer, Outcome, ProtocolError, Range, Request
from .protocol import decode, encode, refusal

_PIECE = 1 << 16
_PIPE = 1 << 20
_NO_WORKER = "is not a worker: {}. Pass an app's tool that has the command `worker`."
_FAULTS = EOFError, TimeoutError, ProtocolError  # of a process that has to be restarted


class WorkerError(Exception):
    """A worker cannot be started, or ends again and again."""


class _Entry(NamedTuple):
    """A request without an answer and the buffers of its frame, or an answer of the driver."""

    request: Request | Answer
    length: int = 256
    buffers: Sequence[bytes | memoryview] = ()


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
    - `greeting`: the greeting that the program must have. By default, the first one.

    `numbers` counts requests, so that no two requests of a worker have the same number.

    Raises: `WorkerError` from the context manager and `run` if the program is not a worker, or was
    replaced by a program with another greeting.
    """

    def __init__(self, command: Sequence[str], *, max_frame: int = 64 << 20, window: int = 1 << 20,
                 timeout: float = 60.0, max_restarts: int = 100,
                 greeting: dict[str, Any] | None = None) -> None:  # fmt: skip
        self.command, self.max_frame, self.window = list(command), max_frame, window
        self.timeout, self.max_restarts = timeout, max_restarts
        self.greeting, self.restarts, self.numbers = greeting or {}, 0, count()
        self._in_a_row, self._finished_cpu, self._limit = 0, 0.0, max_frame
        self._process: Popen[bytes] | None = None
        self._stdin, self._stdout, self._stderr = -1, -1, -1  # -1: at its end
        self._out, self._queue = deque[bytes | memoryview](), deque[_Entry]()
        self._small, self._in, self._errors = bytearray(), bytearray(), b""

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(0 if kind else 5)

    @property
    def pid(self) -> int | None:
        """The identifier of the running process."""
        return self._process.pid if self._process else None

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all processes that this worker started, in seconds."""
        with suppress(OSError, ValueError):
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return self._finished_cpu + sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        return self._finished_cpu

    def run(self, requests: Iterable[Request | Answer]) -> Iterator[Answer]:
        """Sends requests and yields their answers in order, while it reads further requests.

        An answer among the requests is yielded in its place.

        Raises: `WorkerError` if the process cannot be restarted.
        """
        if self._queue:  # The last run was abandoned. Its answers must not be those of this one.
            self.close(0)
        source, queue = iter(requests), deque[_Entry]()
        self._queue = queue
        # After a restart, the entries at the front are sent one at a time: `single` of them.
        single = unanswered = 0
        try:
            while True:
                while not single and (unanswered < self.window or not queue):
                    if (request := next(source, None)) is None:
                        break
                    queue.append(entry := self._entry(request))
                    unanswered += entry.length
                    self._send(entry)
                if not queue:
                    return
                if single:
                    self._send(queue[0])
                front = queue[0].request
                answers: list[Answer] = []
                try:
                    if isinstance(front, Answer):
                        answers = [front]
                    else:
                        answers = _in_order(self._receive(), islice(queue, 1 if single else None))
                except _FAULTS as fault:
                    message = self._restart(fault)
                    if single:
                        hung, crashed = Outcome.HUNG, Outcome.CRASHED
                        outcome = hung if isinstance(fault, TimeoutError) else crashed
                        answers = [refusal(outcome, message, number=front.number)]
                    else:
                        single = len(queue)
                for answer in answers:
                    unanswered -= queue.popleft().length
                    single = max(0, single - 1)
                    yield answer
        finally:
            if queue and queue is self._queue:
                self.close(0)

    def close(self, grace: float = 5) -> int:
        """Ends the process, if it runs, and returns its exit status.

        Its input is closed. It is killed if it does not end by itself within `grace` seconds.
        """
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:  # Closes the pipes at the end.
            assert process.stdin
            process.stdin.close()
            limit, options = time.monotonic() + grace, os.WEXITED | os.WNOHANG | os.WNOWAIT
            while time.monotonic() < limit and not os.waitid(os.P_PID, process.pid, options):
                time.sleep(0.005)
            self._read_errors()
            with suppress(OSError):  # Also kills what the process has started.
                os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self._finished_cpu += usage.ru_utime + usage.ru_stime
        return process.returncode

    def _entry(self, request: Request | Answer) -> _Entry:
        if isinstance(request, Answer):
            return _Entry(request)
        length, buffers = encode(request)
        if length > self._limit:
            text = f"the request has {length:,} of at most {self._limit:,} bytes; raise --max-frame"
            answer = refusal(Outcome.UNSUPPORTED, text, "limitExceeded", request.number)
            return _Entry(answer, length)
        if request.parts and isinstance(first := request.parts[0], Range):
            length += first.length  # The caller and the worker have its bytes in memory.
        return _Entry(request, length, buffers)

    def _send(self, entry: _Entry) -> None:
        """Queues the bytes of a request. Small requests share a write."""
        if self._process is None:
            self._start()
        if entry.length < _PIECE:
            self._small += b"".join(entry.buffers)
        else:
            self._flush_small()
            self._out.extend(memoryview(b).cast("B") for b in entry.buffers if len(b))
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
                written = os.write(self._stdin, self._out[0])
                if rest := memoryview(self._out.popleft())[written:]:
                    self._out.appendleft(rest)
        except BlockingIOError:
            pass
        except OSError:
            # The process has ended. Its last answers may still be in the other pipe.
            self._out.clear()

    def _receive(self) -> list[Answer]:
        """Writes and reads until at least one answer has been received. Returns all of them."""
        self._flush_small()
        answers = [decode(frame) for frame in self._wait(self.timeout)]
        self._in_a_row = 0
        return answers

    def _wait(self, seconds: float) -> list[memoryview]:
        """Writes and reads until at least one frame has been received."""
        limit = time.monotonic() + seconds
        while not (frames := self._frames()):
            self._exchange(limit)
        return frames

    def _frames(self) -> list[memoryview]:
        """Removes the complete frames from the received bytes."""
        frames, received, start = [], memoryview(self._in), 4
        while start <= len(received):
            length = int.from_bytes(received[start - 4 : start], "little")
            if length > max(self.max_frame, _PIPE):
                raise ProtocolError(f"a frame of {length:,} bytes")
            if start + length > len(received):
                break
            frames.append(received[start : start + length])
            start += length + 4
        if frames:
            self._in = self._in[start - 4 :]
        return frames

    def _exchange(self, limit: float) -> None:
        """Waits until the process reads or writes, and moves bytes in both directions."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if self._stderr >= 0:
            poll.register(self._stderr, select.POLLIN)
        if self._out:
            poll.register(self._stdin, select.POLLOUT)
        ready = dict(poll.poll(max(0.0, limit - time.monotonic()) * 1000))
        if self._stdin in ready:
            self._write()
        if self._stderr in ready:
            self._read_errors()
        if self._stdout in ready:
            if not (piece := os.read(self._stdout, _PIPE)):
                raise EOFError
            self._in += piece
        elif time.monotonic() >= limit:  # Also if the process still writes to standard error.
            raise TimeoutError(f"the worker gave no answer within {self.timeout:g} s")

    def _read_errors(self) -> None:
        """Keeps the end of what the process has written to standard error."""
        with suppress(BlockingIOError):
            if self._stderr >= 0:
                piece = os.read(self._stderr, _PIPE)
                self._errors = (self._errors + piece)[-4096:]
                self._stderr = self._stderr if piece else -1

    def _end(self, fault: Exception) -> str:
        """Ends the process and returns a sentence with the reason."""
        # If only standard output is closed, the process has a moment to end by itself.
        status = self.close(2 if isinstance(fault, EOFError) else 0)
        problem = str(fault) or f"the worker ended with {_status(status)}"
        if isinstance(fault, ProtocolError):
            problem = "the worker wrote something other than an answer to its standard output"
            problem += f" ({fault}); steps and hooks must print to standard error"
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return f"{problem}: {lines[-1].strip()[:400]}" if lines else problem

    def _restart(self, fault: Exception) -> str:
        reason = self._end(fault)
        self.restarts, self._in_a_row = self.restarts + 1, self._in_a_row + 1
        if self._in_a_row > self.max_restarts:
            text = f"{self.command[0]} was restarted {self.max_restarts} times without an answer."
            raise WorkerError(f"{text} The last reason: {reason}")
        self._start()
        return reason

    def _start(self) -> None:
        program = self.command[0]
        # The runtime of Swift would spend seconds on a backtrace of each crash.
        environment = {"SWIFT_BACKTRACE": "enable=no", **os.environ}
        try:
            process = Popen(self.command, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=PIPE,
                            start_new_session=True, env=environment)  # fmt: skip
        except OSError as error:
            reason = f"cannot start {program}: {error.strerror}"
            raise WorkerError(f"{reason}. Pass the path of your app's tool.") from error
        pipes = [p.fileno() for p in (process.stdin, process.stdout, process.stderr) if p]
        for descriptor in pipes:
            os.set_blocking(descriptor, False)
            with suppress(OSError, AttributeError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
        self._process, (self._stdin, self._stdout, self._stderr) = process, pipes
        self._out.clear()
        self._small, self._in, self._errors = bytearray(), bytearray(), b""
        self._greet()

    def _greet(self) -> None:
        """Reads the greeting of the process and checks its version of the protocol."""
        try:
            greeting = json.loads(bytes(self._wait(max(self.timeout, 10))[0]))
            version = greeting["protocol"]
            self._limit = min(self.max_frame, int(greeting.get("maxFrame", self.max_frame)))
            if version == VERSION and greeting == (self.greeting or greeting):
                self.greeting = greeting
                return
            problem = "was replaced by another program during the run. Begin another run with it."
            if version != VERSION:
                problem = f"uses version {version} of the protocol, not {VERSION}. Use a package"
                problem += " of the same version of Strata."
        except ProtocolError:
            problem = _NO_WORKER.format("its output does not begin with a greeting")
        except (EOFError, TimeoutError) as fault:
            problem = _NO_WORKER.format(self._end(fault))
        except (ValueError, KeyError, TypeError):
            problem = _NO_WORKER.format("its greeting is not JSON")
        self.close(0)
        raise WorkerError(f"{self.command[0]} {problem}")


def _in_order(answers: list[Answer], entries: Iterator[_Entry]) -> list[Answer]:
    """Returns the answers together with the driver's own ones, in the order of the requests."""
    result = []
    requests = (entry.request for entry in entries)
    for answer in answers:
        while isinstance(request := next(requests, None), Answer):
            result.append(request)
        if request is None or request.number != answer.number:
            raise ProtocolError("the number of another request")
        result.append(answer)
    return result


def _status(status: int) -> str:
    """Names an exit status or a signal."""
    with suppress(ValueError):
        return f"signal {-status} ({signal.Signals(-status).name})"
    return f"exit status {status}"
