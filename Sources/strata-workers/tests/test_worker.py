"""The driver of one worker process, with a fake worker that can misbehave."""

import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from strata_workers import Answer, Operation, Outcome, Range, Request, Worker, WorkerError
from strata_workers import worker_command
from strata_workers.manifest import record
from strata_workers.protocol import ProtocolError, decode, encode, refusal


def upgrades(texts: Iterable[bytes], operation: Operation = Operation.UPGRADE) -> Iterator[Request]:
    for number, text in enumerate(texts):
        yield Request(number, operation, (text,))


def run(tool: str, texts: Iterable[bytes], **options: float) -> tuple[list[Answer], Worker]:
    with Worker(worker_command(tool), **options) as worker:  # type: ignore[arg-type]
        return list(worker.run(upgrades(texts))), worker


def outcomes(answers: Iterable[Answer]) -> list[str]:
    return [answer.outcome.word for answer in answers]


def test_a_worker_answers_in_order(fake_tool: str) -> None:
    texts = [b"A1:%d" % i for i in range(20_000)]
    answers, worker = run(fake_tool, texts)
    assert [a.number for a in answers] == list(range(20_000))
    assert all(a.archive == b"A3:%d" % a.number for a in answers)
    first = answers[0]
    assert (first.type_name, first.version_from, first.version_to) == ("Issue", 1, 3)
    assert worker.restarts == 0 and worker.cpu_seconds > 0
    assert worker.greeting["program"] == "fake 1"


def test_every_outcome_has_its_details(fake_tool: str) -> None:
    texts = [b"A3:x", b"A1:refused", b"?", b"A1:unknown", b"A1:nick"]
    answers, _ = run(fake_tool, texts)
    assert outcomes(answers) == ["current", "refused", "damaged", "unknown", "upgraded"]
    assert answers[0].archive is None and not answers[0].failed
    assert answers[1].failed and answers[1].message == "votes is negative (at votes)"
    assert answers[2].code == "damaged" and answers[2].version_from is None
    assert answers[4].details == {"losses": ["nick"]}


def test_large_and_small_frames_mix_without_a_deadlock(fake_tool: str) -> None:
    draw = random.Random(1)
    texts = [b"A1:" + draw.randbytes(draw.choice([0, 10, 70_000, 3_000_000])) for _ in range(60)]
    answers, _ = run(fake_tool, texts, window=200_000)
    assert [a.archive for a in answers] == [b"A3:" + t[3:] for t in texts]


def test_back_pressure_bounds_the_unanswered_bytes(fake_tool: str) -> None:
    taken = 0

    def source() -> Iterator[Request]:
        nonlocal taken
        for request in upgrades(b"A1:" + b"x" * 1000 for _ in range(1000)):
            taken += 1
            yield request

    with Worker(worker_command(fake_tool), window=10_000) as worker:
        given = 0
        for _ in worker.run(source()):
            given += 1
            # A group of answers is received at once. Its requests are no longer unanswered.
            assert taken - given <= 20
    assert given == taken == 1000


def test_a_crash_sets_one_record_aside(fake_tool: str) -> None:
    texts = [b"A1:%d" % i for i in range(3000)]
    texts[1500] = b"A1:crash"
    answers, worker = run(fake_tool, texts)
    assert [a.number for a in answers if a.failed] == [1500]
    assert answers[1500].outcome is Outcome.CRASHED
    assert "signal 5 (SIGTRAP)" in answers[1500].message
    assert answers[1500].message.endswith("Fatal error: the step divides by zero")
    assert worker.restarts == 2


def test_crashes_at_both_ends_and_in_a_row(fake_tool: str) -> None:
    texts = [b"A1:crash", b"A1:crash", b"A1:exit", b"A1:a", b"A1:crash"]
    answers, _ = run(fake_tool, texts)
    assert outcomes(answers) == ["crashed", "crashed", "crashed", "upgraded", "crashed"]
    assert "exit status 3" in answers[2].message


def test_a_killed_process_blames_no_record(fake_tool: str, tmp_path: Path) -> None:
    texts = [b"A1:%d" % i for i in range(100)]
    texts[50] = f"A1:crash-once {tmp_path}/marker".encode()
    answers, worker = run(fake_tool, texts)
    assert set(outcomes(answers)) == {"upgraded"} and worker.restarts == 1


def test_a_hang_sets_one_record_aside(fake_tool: str) -> None:
    texts = [b"A1:%d" % i for i in range(100)]
    texts[40] = b"A1:hang"
    answers, worker = run(fake_tool, texts, timeout=0.5)
    assert [a.number for a in answers if a.failed] == [40]
    assert answers[40].outcome is Outcome.HUNG and "within 0.5 s" in answers[40].message
    assert worker.restarts == 2


def test_slow_records_are_not_hung(fake_tool: str) -> None:
    answers, _ = run(fake_tool, [b"A1:slow"] * 30, timeout=0.5)
    assert set(outcomes(answers)) == {"upgraded"}


@pytest.mark.parametrize("fault", [b"A1:print", b"A1:stray"])
def test_output_that_is_not_an_answer_is_a_fault_of_the_record(
    fake_tool: str, fault: bytes
) -> None:
    answers, _ = run(fake_tool, [b"A1:a", b"A1:b", fault, b"A1:c"])
    assert outcomes(answers) == ["upgraded", "upgraded", "crashed", "upgraded"]


def test_noise_does_not_hide_a_hang(fake_tool: str) -> None:
    texts = [b"A1:a", b"A1:babble", b"A1:b"]
    answers, _ = run(fake_tool, texts, timeout=0.5)
    assert outcomes(answers) == ["upgraded", "hung", "upgraded"]
    assert answers[1].message.endswith("within 0.5 s: noise")


def test_the_driver_refuses_an_oversized_frame(fake_tool: str) -> None:
    texts = [b"A1:a", b"A1:" + b"x" * 5000, b"A1:b"]
    with Worker(worker_command(fake_tool, 4096), max_frame=1 << 20) as worker:
        answers = list(worker.run(upgrades(texts)))
    assert outcomes(answers) == ["upgraded", "unsupported", "upgraded"]
    assert answers[1].code == "limitExceeded" and worker.restarts == 0


@pytest.mark.parametrize("kind", ["oversized", "refused", "range"])
def test_requests_of_few_bytes_are_bounded_too(fake_tool: str, tmp_path: Path, kind: str) -> None:
    taken = 0
    (tmp_path / "file").write_bytes(b"A1:" + b"x" * 1000)

    def source() -> Iterator[Request | Answer]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            part = Range(str(tmp_path / "file"), 0, 1003) if kind == "range" else b"x" * 5000
            refused = refusal(Outcome.UNREADABLE, "gone", number=number)
            yield refused if kind == "refused" else Request(number, Operation.UPGRADE, (part,))

    with Worker(worker_command(fake_tool), max_frame=4096, window=10_000) as worker:
        for given, answer in enumerate(worker.run(source())):
            assert answer.number == given and taken - given <= 50
            assert answer.failed == (kind != "range")
    assert taken == 1000


def test_answers_of_the_driver_stay_in_order(fake_tool: str) -> None:
    texts = {1: b"A1:a", 3: b"A1:crash", 4: b"A1:b", 7: b"A1:c"}

    def source() -> Iterator[Request | Answer]:
        for number in range(9):
            if text := texts.get(number):
                yield Request(number, Operation.UPGRADE, (text,))
            else:
                yield refusal(Outcome.UNREADABLE, "gone", number=number)

    with Worker(worker_command(fake_tool)) as worker:
        answers = list(worker.run(source()))
    assert [answer.number for answer in answers] == list(range(9))
    expected = ["unreadable"] * 9
    for number, text in texts.items():
        expected[number] = "crashed" if text == b"A1:crash" else "upgraded"
    assert outcomes(answers) == expected


def test_an_oversized_answer_is_unsupported(fake_tool: str) -> None:
    with Worker(worker_command(fake_tool, 4096), max_frame=4096) as worker:
        answers = list(worker.run(upgrades([b"A1:double", b"A1:b"])))
    assert outcomes(answers) == ["unsupported", "upgraded"]
    assert answers[0].code == "limitExceeded"


def test_a_program_that_always_ends_is_an_error(fake_tool: str) -> None:
    command = worker_command(fake_tool) + ["--die-after", "0"]
    with pytest.raises(WorkerError, match="restarted 3 times without an answer"):
        with Worker(command, max_restarts=3) as worker:
            list(worker.run(upgrades([b"A1:a"] * 10)))


def test_a_process_that_ends_often_makes_progress(fake_tool: str) -> None:
    command = worker_command(fake_tool) + ["--die-after", "7"]
    with Worker(command, max_restarts=3) as worker:
        answers = list(worker.run(upgrades([b"A1:a"] * 100)))
    assert len(answers) == 100 and worker.restarts > 10


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--garbage", "is not a worker: its output does not begin with a greeting"),
        ("--speaks=2", "uses version 2 of the protocol, not 1"),
    ],
)
def test_a_program_that_is_not_a_worker(fake_tool: str, option: str, message: str) -> None:
    with pytest.raises(WorkerError, match=message):
        Worker(worker_command(fake_tool) + option.split("=")).__enter__()


def test_programs_that_cannot_be_started(fake_tool: str) -> None:
    for command in (["/nonexistent/tool"], ["/etc/passwd"]):
        with pytest.raises(WorkerError, match="Pass the path of your app's tool"):
            Worker(command).__enter__()
    with pytest.raises(WorkerError, match="exit status 64: error: unexpected argument"):
        Worker([fake_tool, "verify"]).__enter__()
    with pytest.raises(WorkerError, match="is not a worker: the worker ended with exit status 0"):
        Worker(["true"]).__enter__()


def test_a_range_is_read_by_the_worker(fake_tool: str, tmp_path: Path) -> None:
    file = tmp_path / "stream"
    file.write_bytes(b"A1:oneA1:three")
    with Worker(worker_command(fake_tool)) as worker:
        ranges = [Range(str(file), 0, 6), Range(str(file), 6, 8), Range(str(file), 6, 9)]
        requests = [Request(i, Operation.UPGRADE, (r,)) for i, r in enumerate(ranges)]
        answers = list(worker.run(requests))
    assert [a.archive for a in answers] == [b"A3:one", b"A3:three", None]
    assert answers[2].outcome is Outcome.UNREADABLE


def test_runs_that_are_abandoned_do_not_disturb_the_next(fake_tool: str) -> None:
    with Worker(worker_command(fake_tool)) as worker:
        for _ in range(3):
            answers = worker.run(upgrades(b"A1:%d" % i for i in range(1000)))
            next(answers)
            answers.close()  # type: ignore[attr-defined]
        assert len(list(worker.run(upgrades([b"A1:a"])))) == 1
        pid = worker.pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_run_that_is_not_closed_does_not_answer_the_next(fake_tool: str) -> None:
    with Worker(worker_command(fake_tool)) as worker:
        abandoned = worker.run(upgrades([b"A1:%d" % i for i in range(1000)]))
        next(abandoned)
        answers = list(worker.run(upgrades([b"A1:x"] * 1000)))
        assert {answer.archive for answer in answers} == {b"A3:x"} and worker.restarts == 0
        abandoned.close()  # type: ignore[attr-defined]
        assert len(list(worker.run(upgrades([b"A1:a"])))) == 1


def test_noise_on_standard_error_does_not_block(fake_tool: str) -> None:
    answers, _ = run(fake_tool, [b"A1:noise"] * 5)
    assert set(outcomes(answers)) == {"upgraded"}


def test_a_worker_that_dies_between_runs_is_restarted(fake_tool: str) -> None:
    with Worker(worker_command(fake_tool)) as worker:
        assert len(list(worker.run(upgrades([b"A1:a"])))) == 1
        assert worker.pid
        os.kill(worker.pid, 9)
        time.sleep(0.1)
        assert len(list(worker.run(upgrades([b"A1:a"] * 5000)))) == 5000
        assert worker.restarts == 1


def test_frames_have_the_bytes_of_the_specification() -> None:
    request = Request(258, Operation.CONVERT, (b"ab", Range("/f", 3, 4), memoryview(b"c")))
    length, buffers = encode(request)
    frame = b"".join(buffers)
    assert frame == bytes.fromhex(
        "32000000 0201000000000000 03 03 02000000 6162"
        "12000080 0300000000000000 0400000000000000 2f66 01000000 63"
    ).replace(b"\x32", bytes([length]), 1)
    assert length == len(frame) - 4


FRAMES = [b"", b"x" * 30, b"\0" * 38, bytes(8) + b"\3\3" + b"\xff" * 28]
FRAMES += [bytes(8) + b"\3\3" + bytes(28)]  # upgraded, without an archive


@pytest.mark.parametrize("frame", FRAMES)
def test_bytes_that_are_not_an_answer(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(memoryview(frame))


def test_a_real_worker(real_tool: str) -> None:
    with Worker(worker_command(real_tool)) as worker:
        requests = [Request(i, Operation.UPGRADE, (b"x",)) for i in range(1000)]
        answers = list(worker.run(requests))
    assert [a.number for a in answers] == list(range(1000))
    assert all(a.outcome is Outcome.UNSUPPORTED for a in answers)


def test_texts_that_no_database_stores() -> None:
    details: dict[str, object] = {"code": "x", "message": "a\0b\ud800c"}
    stored = record("key", Answer(0, Outcome.UNKNOWN, type_name="T\0", details=details), "")
    assert stored.message == "a\\0b?c" and stored.type == "T\\0"
