"""Runs over a table of a server on loopback, which STRATA_WORKERS_POSTGRES=1 starts."""

import glob
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg")
from strata_workers.__main__ import main  # noqa: E402

pytestmark = pytest.mark.skipif(
    not os.environ.get("STRATA_WORKERS_POSTGRES"), reason="STRATA_WORKERS_POSTGRES is not set"
)


class Server:
    """A server of its own in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        self.bin, self.data = Path(binaries[-1]), folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.dsn = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"
        if os.geteuid() == 0:
            for parent in [folder, *folder.parents[:2]]:
                parent.chmod(0o755)
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        self.run("initdb", "-A", "trust", "-U", "postgres")
        self.start()

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), "-D", str(self.data), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.data}"
        )
        self.run("pg_ctl", "-w", "-l", str(self.data / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def sql(self, query: str, *values: object) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            cursor = db.execute(query.encode(), values or None)
            return list(cursor.fetchall()) if cursor.description else []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop("immediate")


@pytest.fixture
def table(server: Server) -> Iterator[str]:
    server.sql("DROP TABLE IF EXISTS documents, strata_runs, strata_batches, strata_records")
    server.sql("CREATE TABLE documents (id bigint PRIMARY KEY, data bytea)")
    yield "documents"


def fill(server: Server, rows: dict[int, bytes]) -> None:
    with psycopg.connect(server.dsn) as db, db.cursor() as cursor:
        with cursor.copy("COPY documents FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "bytea"])
            for row in rows.items():
                copy.write_row(row)
    server.sql("VACUUM ANALYZE documents")


def arguments(server: Server, tool: str, *more: str, operation: str = "upgrade") -> list[str]:
    command = ["postgres", operation, "--dsn", server.dsn, "--table", "documents", "--key", "id"]
    return [*command, "--column", "data", "--tool", tool, "--workers", "2", *more]


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def check(server: Server, before: dict[int, bytes], run: str) -> None:
    """Compares the table and the records with the archives that were in the table."""
    rows = dict(server.sql("SELECT id, data FROM documents"))
    query = "SELECT key, outcome, before, after FROM strata_records WHERE run = %s"
    records = {int(key): rest for key, *rest in server.sql(query, run)}
    assert rows.keys() == records.keys() == before.keys()
    for key, data in before.items():
        good = data.startswith(b"A1:") and b"refused" not in data and b"crash" not in data
        assert rows[key] == (b"A3:" + data[3:] if good else data)
        assert records[key][1:] == [digest(data), digest(rows[key]) if good else ""]
    query = "SELECT sum(rows)::int, sum(done)::int FROM strata_batches WHERE run = %s"
    assert server.sql(query, run) == [(len(before), len(before))]


def simple(count: int) -> dict[int, bytes]:
    return {3 * n: b"A1:%d" % n for n in range(count)}


def test_a_table_is_upgraded(server: Server, table: str, fake_tool: str) -> None:
    rows = simple(2500) | {10: b"A1:refused", 11: b"?", 12: b"", 13: b"A1:crash"}
    fill(server, dict(sorted(rows.items())))
    server.sql("INSERT INTO documents VALUES (-5, NULL)")
    command = arguments(server, fake_tool, "--batch", "100", "--run", "r")
    assert main(command) == 1
    assert server.sql("DELETE FROM documents WHERE id = -5 RETURNING data") == [(None,)]
    server.sql("UPDATE strata_batches SET rows = rows - 1 WHERE number = 0")  # the row with NULL
    check(server, rows, "r")
    query = "SELECT message FROM strata_records WHERE outcome = 'refused'"
    assert server.sql(query) == [("votes is negative (at votes)",)]
    assert main(command) == 1  # A repeat of a complete run changes nothing.
    check(server, rows, "r")
    assert main(arguments(server, fake_tool, "--run", "again")) == 1
    query = "SELECT count(*) FROM strata_records WHERE run = 'again' AND outcome = 'current'"
    assert server.sql(query) == [(2499,)]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200])
def test_batches_cover_all_rows(server: Server, table: str, fake_tool: str, count: int) -> None:
    fill(server, rows := simple(count))
    assert main(arguments(server, fake_tool, "--batch", "100", "--run", "r")) == 0
    if count:
        check(server, rows, "r")
    assert server.sql("SELECT count(*) FROM strata_batches") == [((count + 99) // 100,)]


def test_batches_of_one_row(server: Server, table: str, fake_tool: str) -> None:
    fill(server, rows := simple(7))
    assert main(arguments(server, fake_tool, "--batch", "1", "--run", "r")) == 0
    check(server, rows, "r")


@pytest.mark.parametrize("kind", ["text", "uuid", "timestamptz"])
def test_keys_of_other_types(server: Server, table: str, fake_tool: str, kind: str) -> None:
    server.sql('DROP TABLE IF EXISTS "Odd Name"')
    server.sql(f'CREATE TABLE "Odd Name" ("the key" {kind} PRIMARY KEY, "the data" bytea)')
    value = {
        "text": "md5(i::text) || ' ''\"%%Ä'",
        "uuid": "md5(i::text)::uuid",
        "timestamptz": "'2020-01-01 12:00'::timestamptz + i * interval '1.000001 s'",
    }[kind]
    server.sql(f"""INSERT INTO "Odd Name" SELECT {value}, 'A1:'::bytea || i::text::bytea
        FROM generate_series(1, 350) i""".replace("%%", "%"))  # fmt: skip
    command = ["postgres", "upgrade", "--dsn", server.dsn, "--table", "public.Odd Name"]
    command += ["--key", "the key", "--column", "the data", "--tool", fake_tool, "--batch", "50"]
    assert main([*command, "--workers", "2"]) == 0
    query = 'SELECT count(*) FROM "Odd Name" WHERE "the data" LIKE \'A3:%\''
    assert server.sql(query) == [(350,)]
    assert server.sql("SELECT count(*) FROM strata_records") == [(350,)]


def test_large_rows_are_read_in_pieces(server: Server, table: str, fake_tool: str) -> None:
    rows = {n: b"A1:" + bytes([n]) * (3 << 20) for n in range(10)} | {20: b"A1:" + b"x" * (5 << 20)}
    fill(server, rows)
    command = arguments(server, fake_tool, "--run", "r", "--max-frame", str(4 << 20))
    assert main(command) == 1
    query = "SELECT key, code FROM strata_records WHERE outcome = 'unsupported'"
    assert server.sql(query) == [("20", "limitExceeded")]
    assert server.sql("SELECT count(*) FROM documents WHERE substr(data, 1, 3) = 'A3:'") == [(10,)]


def test_verify_and_merge(server: Server, table: str, fake_tool: str) -> None:
    fill(server, rows := simple(300))
    assert main(arguments(server, fake_tool, "--run", "v", operation="verify")) == 0
    assert dict(server.sql("SELECT id, data FROM documents")) == rows
    assert server.sql("SELECT sum(intact)::int FROM strata_batches WHERE run = 'v'") == [(300,)]
    server.sql("ALTER TABLE documents ADD theirs bytea, ADD old bytea")
    server.sql("UPDATE documents SET theirs = 'A3:theirs'")
    sides = ["--server", "theirs", "--base", "old"]
    assert main(arguments(server, fake_tool, *sides, operation="merge")) == 0
    assert server.sql("SELECT data FROM documents WHERE id = 0") == [(b"A3:0+theirs",)]


def test_only_the_base_of_a_merge_may_be_null(server: Server, table: str, fake_tool: str) -> None:
    fill(server, {1: b"A3:1", 2: b"A3:2"})
    server.sql("ALTER TABLE documents ADD theirs bytea, ADD old bytea")
    server.sql("UPDATE documents SET old = 'A3:old'")
    server.sql("UPDATE documents SET theirs = 'A3:theirs' WHERE id = 1")
    sides = ["--server", "theirs", "--base", "old", "--run", "r"]
    assert main(arguments(server, fake_tool, *sides, operation="merge")) == 1
    rows = server.sql("SELECT data FROM documents ORDER BY id")
    assert rows == [(b"A3:1+theirs+old",), (b"A3:2",)]
    query = "SELECT key, outcome, code, before FROM strata_records WHERE outcome <> 'merged'"
    assert server.sql(query) == [("2", "invalid", "missing", digest(b"A3:2"))]


def test_runs_that_begin_in_the_same_second(server: Server, table: str, fake_tool: str) -> None:
    fill(server, simple(3))
    for name in ("second", "third"):
        server.sql(f"DROP TABLE IF EXISTS {name}")
        server.sql(f"CREATE TABLE {name} (LIKE documents INCLUDING ALL)")
    commands = [arguments(server, fake_tool, "--table", t) for t in ("documents", "second", "third")]
    command = [sys.executable, "-m", "strata_workers"]
    processes = [subprocess.Popen(command + one) for one in commands]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert server.sql("SELECT count(*) FROM strata_runs") == [(3,)]


def test_a_tool_replaced_during_the_run_ends_it(
    server: Server, table: str, fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, simple(50))
    mark, script = tmp_path / "mark", Path(fake_tool).read_text()
    older = script.replace('"$@"', '"$@" --model-version 2').removeprefix("#!/bin/sh\n")
    text = f"#!/bin/sh\nif [ -e {mark} ]; then {older} fi\ntouch {mark}\n"
    Path(fake_tool).write_text(text + script.removeprefix("#!/bin/sh\n"))
    assert main(arguments(server, fake_tool, "--run", "r")) == 2
    assert "was replaced by another program during the run" in capsys.readouterr().err


def test_a_deadlock_repeats_the_batch(server: Server, table: str, fake_tool: str) -> None:
    fill(server, rows := simple(10))
    waiting = """SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND application_name LIKE 'strata-workers%'"""
    with psycopg.connect(server.dsn) as other:
        other.execute("SET deadlock_timeout = '30s'")  # The other session finds the deadlock.
        other.execute("SELECT FROM documents WHERE id = 27 FOR UPDATE")
        process = start(server, fake_tool, "--run", "r", "--workers", "1")
        while not server.sql(waiting):
            time.sleep(0.05)
        other.execute("SELECT FROM documents WHERE id = 0 FOR UPDATE")
    error = process.communicate()[1].decode()
    assert process.returncode == 0 and "reconnecting" in error and "deadlock" in error
    check(server, rows, "r")


def test_a_lock_of_another_session_repeats_the_batch(
    server: Server, table: str, fake_tool: str
) -> None:
    fill(server, rows := simple(10))
    with psycopg.connect(server.dsn) as other:
        other.execute("SELECT FROM documents WHERE id = 27 FOR UPDATE")
        process = start(server, fake_tool, "--run", "r", "--workers", "1")
        assert process.stderr
        # The statement that waits for the lock ends after 60 seconds.
        while "reconnecting" not in (line := process.stderr.readline().decode()):
            assert line
    assert "lock timeout" in line
    process.communicate()
    assert process.returncode == 0
    check(server, rows, "r")


def test_a_dry_run_changes_nothing(
    server: Server, table: str, fake_tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, rows := simple(5000))
    assert main(arguments(server, fake_tool, "--dry-run", "--sample", "200")) == 0
    assert "All 5,000 records with 2 workers" in (output := capsys.readouterr().out)
    # A random range at the end of the table has fewer rows.
    assert re.search(r"A sample of (\d+) records: \1 upgraded", output)
    assert dict(server.sql("SELECT id, data FROM documents")) == rows
    assert server.sql("SELECT to_regclass('strata_records')") == [(None,)]


def test_rows_that_are_inserted_during_a_run(
    server: Server, table: str, fake_tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, simple(1000))
    process = start(server, fake_tool, "--batch", "100", "--run", "r", "--workers", "1")
    wait_for(server, 200)
    server.sql("INSERT INTO documents VALUES (1, 'A1:early'), (2999999, 'A1:beyond')")
    server.sql("DELETE FROM documents WHERE id = 2997")
    output = process.communicate()[0].decode()
    assert process.returncode == 0 and "2 rows were inserted during the run" in output


def start(server: Server, tool: str, *more: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "strata_workers", *arguments(server, tool, *more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(server: Server, count: int) -> None:
    while True:
        try:
            if server.sql("SELECT count(*) FROM strata_records")[0][0] >= count:
                return
        except psycopg.Error:
            pass
        time.sleep(0.01)


def descendants(pid: int) -> list[tuple[int, str]]:
    found = []
    for threads in glob.glob(f"/proc/{pid}/task/*/children"):
        for child in map(int, Path(threads).read_text().split()):
            found += [(child, Path(f"/proc/{child}/cmdline").read_text())] + descendants(child)
    return found


FAULTS = ["tool", "process", "backend", "server", "all", "everything"]


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_and_nothing_done_twice(
    server: Server, table: str, fake_tool: str, fault: str
) -> None:
    rows = simple(20_000) | {10: b"A1:refused", 11: b"?"}
    fill(server, dict(sorted(rows.items())))
    command = ("--batch", "200", "--run", "r")
    process = start(server, fake_tool, *command)
    seen = 2000
    for step in FAULTS[:4] if fault == "everything" else [fault]:
        wait_for(server, seen)
        family = descendants(process.pid)
        if step == "tool":
            os.kill(next(p for p, text in family if "fake_worker" in text), signal.SIGKILL)
        elif step == "process":
            os.kill(next(p for p, text in family if "spawn_main" in text), signal.SIGKILL)
        elif step == "backend":
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
            server.sql(query + " application_name LIKE 'strata-workers%'")
        elif step == "server":
            server.stop("immediate")
            time.sleep(1)
            server.start()
        else:
            process.kill()
        seen += 3000
    process.communicate()
    assert process.returncode == (-9 if fault == "all" else 1)
    assert main(arguments(server, fake_tool, *command)) == 1
    check(server, rows, "r")
    assert not [p for p, text in descendants(os.getpid()) if "fake_worker" in text]


def test_a_server_that_stays_away(server: Server, table: str, fake_tool: str) -> None:
    fill(server, rows := simple(5000))
    process = start(server, fake_tool, "--batch", "100", "--run", "r", "--patience", "1")
    wait_for(server, 500)
    server.stop("immediate")
    error = process.communicate()[1].decode()
    server.start()
    assert process.returncode == 2 and "no batch has succeeded for 1 s" in error
    assert main(arguments(server, fake_tool, "--run", "r")) == 0
    check(server, rows, "r")


def test_a_full_disk_of_the_server(server: Server, table: str, fake_tool: str) -> None:
    folder = server.data.parent / "small"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=4m,mode=777", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("a file system of limited size needs root")
    try:
        space = folder / "space"
        space.mkdir()
        os.chown(space, pwd.getpwnam("postgres").pw_uid, -1)
        server.sql(f"CREATE TABLESPACE small LOCATION '{space}'")
        server.sql("ALTER TABLE documents SET TABLESPACE small")
        fill(server, rows := {n: b"A1:" + os.urandom(500) for n in range(4000)})
        process = start(server, fake_tool, "--run", "r", "--batch", "500")
        error = process.communicate()[1].decode()
        assert process.returncode == 2 and "the disk of the server is full" in error
        server.sql("ALTER TABLE documents SET TABLESPACE pg_default")
        assert main(arguments(server, fake_tool, "--run", "r")) == 0
        check(server, rows, "r")
        server.sql("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_wrong_arguments(
    server: Server, table: str, fake_tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, simple(3))
    server.sql("ALTER TABLE documents ADD other bigint, ADD name text")
    for more, message in [
        (["--table", "none"], "the table none does not exist"),
        (["--column", "none"], "the table documents has no column none"),
        (["--column", "name"], "the column name has the type text; archives need bytea"),
        (["--key", "other"], "the key other must be NOT NULL and have a unique index"),
        (["--server", "name"], "the column name has the type text; archives need bytea"),
    ]:
        operation = "merge" if "--server" in more else "upgrade"
        assert main(arguments(server, fake_tool, *more, operation=operation)) == 64
        assert message in capsys.readouterr().err
    assert main(arguments(server, fake_tool, "--dsn", "host=127.0.0.1 port=1")) == 2
    assert main(arguments(server, "/nonexistent")) == 2


@pytest.mark.parametrize("result", ["OLD", "NULL", "NEW with other bytes"])
def test_a_trigger_that_prevents_an_update(
    server: Server, table: str, fake_tool: str, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, rows := simple(3))
    body = f"RETURN {result.split()[0]};"
    if result.startswith("NEW"):
        body = "NEW.data = 'other'; RETURN NEW;"
    server.sql(
        f"""CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN IF OLD.id = 3 THEN {body} END IF; RETURN NEW; END $$"""
    )
    server.sql(
        "CREATE TRIGGER keep BEFORE UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION keep()"
    )
    assert main(arguments(server, fake_tool, "--run", "r")) == 2
    assert "updated 2 of 3 rows" in capsys.readouterr().err
    assert dict(server.sql("SELECT id, data FROM documents")) == rows
    assert server.sql("SELECT count(*) FROM strata_records") == [(0,)]


@pytest.mark.parametrize("kind", ["rule", "policy"])
def test_a_rule_or_a_policy_that_prevents_an_update(
    server: Server, table: str, fake_tool: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(server, rows := simple(3))
    command = arguments(server, fake_tool, "--run", "r")
    if kind == "rule":
        server.sql("CREATE RULE keep AS ON UPDATE TO documents DO INSTEAD NOTHING")
    else:
        server.sql("DROP ROLE IF EXISTS limited")
        server.sql("CREATE ROLE limited LOGIN")
        server.sql("GRANT ALL ON DATABASE postgres TO limited")
        server.sql("GRANT ALL ON SCHEMA public TO limited")
        server.sql("GRANT ALL ON documents TO limited")
        server.sql("ALTER TABLE documents ENABLE ROW LEVEL SECURITY")
        server.sql("CREATE POLICY all_rows ON documents FOR SELECT USING (true)")
        server.sql("CREATE POLICY some_rows ON documents FOR UPDATE USING (id = 0)")
        command[command.index(server.dsn)] = server.dsn.replace("user=postgres", "user=limited")
    try:
        assert main(command) == 2
        expected = rows if kind == "rule" else rows | {0: b"A3:0"}
        assert dict(server.sql("SELECT id, data FROM documents")) == expected
        if kind == "policy":
            assert "2 rows are not covered" in capsys.readouterr().err
    finally:
        if kind == "policy":
            server.sql("DROP OWNED BY limited")
            server.sql("DROP ROLE limited")
