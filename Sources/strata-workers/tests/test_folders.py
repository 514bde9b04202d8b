"""Runs over folders, with a fake worker."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path

import pytest

from strata_workers.__main__ import main


def make(folder: Path, count: int = 50) -> Path:
    source = folder / "in"
    for i in range(count):
        file = source / f"d{i % 3}" / f"{i}.strata"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"A1:%d" % i)
    return source


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def records(target: Path, run: str = "upgrade") -> dict[str, tuple[str, ...]]:
    db = sqlite3.connect(target / f".strata-run-{run}.sqlite")
    rows = db.execute("SELECT key, outcome, before, after, code, message FROM records").fetchall()
    db.close()
    return {row[0]: row[1:] for row in rows}


def folder(tool: str, source: Path, target: Path, *more: str, operation: str = "upgrade") -> int:
    arguments = ["folder", operation, str(source), str(target), "--tool", tool, "--workers", "2"]
    return main([*arguments, *more])


def files(target: Path) -> dict[str, bytes]:
    found = (p for p in target.rglob("*") if p.is_file() and not p.name.startswith(".strata-run"))
    return {str(p.relative_to(target)): p.read_bytes() for p in found}


def test_a_folder_is_upgraded_with_a_manifest(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path), tmp_path / "out"
    (source / "current").write_bytes(b"A3:x")
    assert folder(fake_tool, source, target) == 0
    expected = {f"d{i % 3}/{i}.strata": b"A3:%d" % i for i in range(50)} | {"current": b"A3:x"}
    assert files(target) == expected
    rows = records(target)
    assert set(rows) == set(expected)
    for key, (outcome, before, after, *_) in rows.items():
        assert before == digest((source / key).read_bytes()) and after == digest(expected[key])
        assert outcome == ("current" if key == "current" else "upgraded")


def test_a_repeated_run_does_what_is_left(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path), tmp_path / "out"
    assert folder(fake_tool, source, target) == 0
    (source / "new").write_bytes(b"A1:new")  # a new file
    (source / "d0/0.strata").write_bytes(b"A1:edited")  # a changed file
    (target / "d1/1.strata").unlink()  # a lost output
    (target / "d2/2.strata").write_bytes(b"other")  # a changed output
    untouched = (target / "d0/3.strata").stat().st_ino
    capsys.readouterr()
    assert folder(fake_tool, source, target, "--log", "json") == 0
    log = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert log[-1]["counts"] == {"upgraded": 4} and log[-1]["skipped"] == 47
    assert files(target)["d0/0.strata"] == b"A3:edited"
    assert (target / "d0/3.strata").stat().st_ino == untouched
    assert len(records(target)) == 51


def test_rejects_are_recorded_and_repeated_only_on_demand(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 10), tmp_path / "out"
    for name in ("refused", "crash", "unknown"):
        (source / name).write_bytes(b"A1:" + name.encode())
    (source / "damaged").write_bytes(b"?")
    (source / "secret").symlink_to("/etc/hostname")
    assert folder(fake_tool, source, target) == 1
    rows = records(target)
    assert len(rows) == 14 and len(files(target)) == 10
    assert rows["refused"][4] == "votes is negative (at votes)"
    assert rows["crash"][0] == "crashed" and "SIGTRAP" in rows["crash"][4]
    assert all(rows[key][2] == "" for key in ("refused", "crash", "unknown", "damaged"))
    assert folder(fake_tool, source, target) == 1
    (source / "refused").write_bytes(b"A1:fine")
    assert folder(fake_tool, source, target, "--retry") == 1
    assert records(target)["refused"][0] == "upgraded"


BAD = {
    "damaged": (b"?", "damaged", "damaged", "not a Strata archive"),
    "refused": (b"A1:refused", "refused", "invalid", "votes is negative"),
    "newer": (b"A9:x", "unsupported", "newerVersion", "the archive has version 9 of Issue"),
    "crash": (b"A1:crash", "crashed", "crashed", "signal 5 (SIGTRAP): Fatal error: the step"),
    "hang": (b"A1:hang", "hung", "hung", "the worker gave no answer within 1 s"),
    "print": (b"A1:print", "crashed", "crashed", "something other than an answer"),
    "double": (b"A1:double", "unsupported", "limitExceeded", "longer than the limit"),
    "long": (b"A1:" + b"x" * 5000, "unsupported", "limitExceeded", "raise --max-frame"),
}


def test_bad_archives_are_rejected_and_the_others_upgraded(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 30), tmp_path / "out"
    for name, (data, *_) in BAD.items():
        (source / name).write_bytes(data)
    options = ["--timeout", "1", "--max-frame", "4096"]
    assert folder(fake_tool, source, target, *options) == 1
    rows = records(target)
    assert len(rows) == 30 + len(BAD) and len(files(target)) == 30
    for name, (data, outcome, code, message) in BAD.items():
        assert rows[name][:4] == (outcome, digest(data), "", code) and message in rows[name][4]


def test_a_tool_that_fails_before_the_run_changes_nothing(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 1), tmp_path / "out"
    for option, message in [("--garbage", "is not a worker"), ("--speaks=2", "uses version 2")]:
        options = [f"--tool-option={text}" for text in option.split("=")]
        assert folder(fake_tool, source, target, *options) == 2
        assert message in capsys.readouterr().err and not target.exists()


def test_a_tool_that_always_ends(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 110), tmp_path / "out"
    options = ["--tool-option=--die-after", "--tool-option=0", "--workers", "1"]
    assert folder(fake_tool, source, target, *options) == 2
    message = "was restarted 100 times without an answer. The last reason: the worker ended with"
    assert f"{message} signal 9 (SIGKILL)" in capsys.readouterr().err


def test_files_that_no_worker_reads(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 3), tmp_path / "out"
    (source / "large").write_bytes(b"A1:" + b"x" * 10_000)
    os.close(os.open(os.fsencode(source) + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    assert folder(fake_tool, source, target, "--max-frame", "5000") == 1
    rows = records(target)
    assert rows["large"][0] == "unsupported" and rows["large"][3] == "limitExceeded"
    assert rows["large"][1] == digest(b"A1:" + b"x" * 10_000)
    assert [v[4] for v in rows.values() if "UTF-8" in v[4]] == ["the name of the file is not UTF-8"]


def test_a_folder_that_cannot_be_listed(
    fake_tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = make(tmp_path, 3), tmp_path / "out"
    scan = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("/d1"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert folder(fake_tool, source, target) == 1
    rows = records(target)
    assert set(rows) == {"d0/0.strata", "d1", "d2/2.strata"}
    assert rows["d1"][0] == "unreadable" and "Permission denied" in rows["d1"][4]


def test_the_output_of_a_run_can_be_the_input_of_another(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 5), tmp_path / "out"
    assert folder(fake_tool, source, target) == 0
    (target / ".9.strata.strata-part").write_bytes(b"half a file")
    os.mkfifo(target / "pipe")
    assert folder(fake_tool, target, tmp_path / "again", operation="verify") == 0
    assert len(records(tmp_path / "again", "verify")) == 5


def test_verify_writes_only_the_manifest(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 5), tmp_path / "out"
    assert folder(fake_tool, source, target, operation="verify") == 0
    assert files(target) == {}
    rows = records(target, "verify")
    assert {row[0] for row in rows.values()} == {"intact"} and len(rows) == 5


def test_convert_and_merge(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 2), tmp_path / "out"
    assert folder(fake_tool, source, target, operation="convert") == 0
    assert files(target)["d0/0.strata.strata"] == b"A3:A1:0"
    server = make(tmp_path / "s", 1)
    merged = tmp_path / "merged"
    assert folder(fake_tool, source, merged, "--server", str(server), operation="merge") == 1
    assert files(merged) == {"d0/0.strata": b"A3:0+0"}
    assert records(merged, "merge")["d1/1.strata"][0] == "unreadable"
    (server / "d0/0.strata").write_bytes(b"A3:new")
    assert folder(fake_tool, source, merged, "--server", str(server), operation="merge") == 1
    assert files(merged) == {"d0/0.strata": b"A3:0+new"}


def test_a_stream_with_an_index_is_read_by_member(fake_tool: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "s").write_bytes(b"A1:oneA1:three")
    (source / "s.index").write_text("strata-index\t1\tIssue\t1\t14\n0\t6\t1\n6\t8\t2\n")
    (source / "stale").write_bytes(b"A1:one")
    (source / "stale.index").write_text("strata-index\t1\tIssue\t1\t99\n0\t6\t1\n")
    assert folder(fake_tool, source, target) == 1
    assert files(target) == {"s/00000000.strata": b"A3:one", "s/00000001.strata": b"A3:three"}
    rows = records(target)
    assert set(rows) == {"s#0", "s#1", "stale"} and rows["s#1"][1] == digest(b"A1:three")
    assert "repeat `strata index`" in rows["stale"][4]


@pytest.mark.parametrize("line", ["-1\t6\t1", "0\t-6\t1", "0\t99\t1", "0\tx\t1", "0"])
def test_a_damaged_index_rejects_its_stream(fake_tool: str, tmp_path: Path, line: str) -> None:
    source, target = make(tmp_path, 3), tmp_path / "out"
    (source / "s").write_bytes(b"A1:one")
    (source / "s.index").write_text(f"strata-index\t1\tIssue\t1\t6\n{line}\n")
    assert folder(fake_tool, source, target) == 1
    assert len(files(target)) == 3 and "repeat `strata index`" in records(target)["s"][4]


def test_a_long_member_has_its_own_checksum(fake_tool: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    long = b"A1:" + b"x" * 5000
    (source / "s").write_bytes(b"A1:one" + long)
    (source / "s.index").write_text("strata-index\t1\tIssue\t1\t5009\n0\t6\t1\n6\t5003\t2\n")
    assert folder(fake_tool, source, target, "--max-frame", "4096") == 1
    assert records(target)["s#1"][:2] == ("unsupported", digest(long))


@pytest.mark.parametrize("victim", ["driver", "tool"])
def test_a_killed_process_loses_nothing(fake_tool: str, tmp_path: Path, victim: str) -> None:
    source, target = make(tmp_path, 1000), tmp_path / "out"
    command = [sys.executable, "-m", "strata_workers", "folder", "upgrade", str(source)]
    command += [str(target), "--tool", fake_tool, "--workers", "2"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(list(target.rglob("*.strata"))) < 200:
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if victim == "driver" or not children.exists():
        process.kill()
        assert process.wait() == -signal.SIGKILL
    else:
        threads = Path(f"/proc/{process.pid}/task").glob("*/children")
        os.kill(int(" ".join(t.read_text() for t in threads).split()[0]), signal.SIGKILL)
        assert process.wait() == 0
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    rows = records(target)
    assert len(rows) == 1000 and {row[0] for row in rows.values()} == {"upgraded"}
    assert {key: digest(data) for key, data in files(target).items()} == {
        key: row[2] for key, row in rows.items()
    }


def test_a_killed_command_leaves_a_tool_that_hangs(fake_tool: str, tmp_path: Path) -> None:
    source, target = make(tmp_path, 1), tmp_path / "out"
    (source / "stuck").write_bytes(b"A1:stuck")
    command = [sys.executable, "-m", "strata_workers", "folder", "upgrade", str(source)]
    command += [str(target), "--tool", fake_tool, "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (target / ".strata-run-upgrade.sqlite").exists():
        time.sleep(0.05)
    time.sleep(1)  # until the tool has got the archive
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    tool = int(" ".join(thread.read_text() for thread in threads).split()[0])
    process.kill()
    process.wait()
    time.sleep(0.5)
    assert Path(f"/proc/{tool}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    os.kill(tool, signal.SIGKILL)


def test_a_full_disk_is_a_clear_error(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 3000), tmp_path / "out"
    target.mkdir()
    options = ["-t", "tmpfs", "-o", "size=2m", "none", str(target)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("a file system of limited size needs root")
    try:
        assert folder(fake_tool, source, target) == 2
        error = capsys.readouterr().err
        assert "No space left on device" in error or "disk is full" in error
        subprocess.run(["mount", "-o", "remount,size=64m", str(target)], check=True)
        assert folder(fake_tool, source, target) == 0
        assert len(files(target)) == len(records(target)) == 3000
    finally:
        subprocess.run(["umount", str(target)], check=True)


def test_two_runs_at_once_are_refused(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 3), tmp_path / "out"
    (source / "slow").write_bytes(b"A1:hang")
    command = [sys.executable, "-m", "strata_workers", "folder", "upgrade", str(source)]
    command += [str(target), "--tool", fake_tool, "--timeout", "30"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not (target / ".strata-run-upgrade.sqlite").exists():
            time.sleep(0.05)
        time.sleep(0.3)
        assert folder(fake_tool, source, target) == 2
        assert "another process is writing the manifest" in capsys.readouterr().err
    finally:
        process.kill()
        process.wait()


def test_arguments_that_contradict(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make(tmp_path, 1)
    for target, more, message in [
        (source / "out", [], "must not contain each other"),
        (tmp_path, [], "must not contain each other"),
        (tmp_path / "out", ["--base", "x"], "merge needs --server"),
        (tmp_path / "out", ["--run", "a/b"], "must not contain a slash"),
    ]:
        assert folder(fake_tool, source, target, *more) == 64
        assert message in capsys.readouterr().err
    assert folder(fake_tool, tmp_path / "none", tmp_path / "out") == 64
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert folder(fake_tool, source, tmp_path / "full") == 64
    assert folder(fake_tool, source, tmp_path / "full", "--overwrite") == 0
    with pytest.raises(SystemExit) as exit:
        folder(fake_tool, source, tmp_path / "out", "--workers", "0")
    assert exit.value.code == 64


def test_a_run_keeps_its_arguments_and_models(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 1), tmp_path / "out"
    assert folder(fake_tool, source, target) == 0
    older = Path(fake_tool + "-older")
    older.write_text(Path(fake_tool).read_text().replace('"$@"', '"$@" --model-version 2'))
    older.chmod(0o755)
    assert folder(str(older), source, target) == 2
    error = capsys.readouterr().err
    assert "run upgrade began with the models" in error
    assert '"version": 3}]' in error and '"version": 2}]' in error
    assert folder("/nonexistent", source, target) == 2


def test_a_tool_replaced_during_the_run_ends_it(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target, mark = make(tmp_path, 1), tmp_path / "out", tmp_path / "mark"
    script = Path(fake_tool).read_text()
    older = script.replace('"$@"', '"$@" --model-version 2').removeprefix("#!/bin/sh\n")
    text = f"#!/bin/sh\nif [ -e {mark} ]; then {older} fi\ntouch {mark}\n"
    Path(fake_tool).write_text(text + script.removeprefix("#!/bin/sh\n"))
    assert folder(fake_tool, source, target) == 2
    assert "was replaced by another program during the run" in capsys.readouterr().err
    assert files(target) == {}


def test_a_dry_run_writes_nothing(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 300), tmp_path / "out"
    assert folder(fake_tool, source, target, "--dry-run", "--sample", "30") == 0
    output = capsys.readouterr().out
    assert "A sample of 30 records: 30 upgraded" in output
    assert "All 300 records with 2 workers" in output and not target.exists()
    for file in source.rglob("*.strata"):
        file.write_bytes(b"A3:12345")  # A run copies current archives.
    assert folder(fake_tool, source, target, "--dry-run") == 0
    assert "bytes written  2,400" in capsys.readouterr().out


def test_progress_and_metrics(
    fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = make(tmp_path, 20), tmp_path / "out"
    metrics = tmp_path / "strata.prom"
    assert folder(fake_tool, source, target, "--progress", "--metrics", str(metrics)) == 0
    text = metrics.read_text()
    label = '{run="upgrade",operation="upgrade"'
    assert f'strata_records_total{label},outcome="upgraded"}} 20' in text
    assert f"strata_run_complete{label}}} 1" in text
    assert f"strata_run_records{label}}} 20" in text
    assert "# TYPE strata_read_bytes_total counter" in text
    assert capsys.readouterr().out == "20 records: 20 upgraded\n"
