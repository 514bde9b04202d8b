"""Checks a run over a table against a computation in one process that shares no code with it.

`oracle.py load DSN TABLE TOOL COUNT` fills a table with the archives of `TOOL make COUNT`, every
1,000th of them damaged, and writes the expected results into TABLE_expected. `oracle.py check DSN
TABLE RUN` compares them with the table and with the records of the run.
"""

import subprocess
import sys
from hashlib import blake2b
from itertools import islice

import psycopg


def digest(data):
    return blake2b(data, digest_size=16).hexdigest()


def archives(tool, count):
    maker = subprocess.Popen([tool, "make", str(count)], stdout=subprocess.PIPE)
    for number in range(count):
        length = int.from_bytes(maker.stdout.read(4), "little")
        data = maker.stdout.read(length)
        yield data[: length // 2] if number % 1000 == 999 else data


class Upgrade:
    """A worker that gets 64 requests, of which none fills a pipe, and then answers them."""

    def __init__(self, tool):
        command = [tool, "worker"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.frame()

    def frame(self):
        length = int.from_bytes(self.process.stdout.read(4), "little")
        return self.process.stdout.read(length)

    def all(self, archives):
        for batch in iter(lambda: list(islice(archives, 64)), []):
            for data in batch:
                body = bytes(8) + b"\2\1" + len(data).to_bytes(4, "little") + data
                self.process.stdin.write(len(body).to_bytes(4, "little") + body)
            self.process.stdin.flush()
            for data in batch:
                answer = self.frame()
                length = int.from_bytes(answer[26:30], "little")
                yield data, answer[8], answer[30 : 30 + length]


def load(dsn, table, tool, count):
    upgrade = Upgrade(tool)
    with psycopg.connect(dsn) as db, psycopg.connect(dsn) as other:
        for name, columns in [
            (table, "id bigint PRIMARY KEY, data bytea"),
            (f"{table}_expected", "key text PRIMARY KEY, outcome int, before text, after text"),
        ]:
            db.execute(f"DROP TABLE IF EXISTS {name}".encode())
            db.execute(f"CREATE TABLE {name} ({columns})".encode())
        db.commit()
        into = f"COPY {table} FROM STDIN (FORMAT BINARY)".encode()
        expected = f"COPY {table}_expected FROM STDIN".encode()
        with db.cursor().copy(into) as rows, other.cursor().copy(expected) as results:
            rows.set_types(["int8", "bytea"])
            results_in_order = upgrade.all(archives(tool, int(count)))
            for number, (data, outcome, archive) in enumerate(results_in_order):
                rows.write_row((number, data))
                # A rejected or a current archive keeps its bytes.
                results.write_row((number, outcome, digest(data), digest(archive or data)))
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"VACUUM ANALYZE {table}, {table}_expected".encode())


def check(dsn, table, run):
    with psycopg.connect(dsn) as db:
        wrong = total = 0
        rows = f"""SELECT t.data, e.outcome, e.before, e.after, r.outcome, r.before, r.after
            FROM {table} t FULL JOIN {table}_expected e ON e.key = t.id::text
            FULL JOIN (SELECT * FROM strata_records WHERE run = %s) r ON r.key = t.id::text"""
        words = {2: "current", 3: "upgraded", 32: "damaged", 33: "refused", 35: "unknown"}
        with db.cursor("rows", binary=True) as cursor:
            cursor.itersize = 10_000
            for data, code, before, after, outcome, was, now in cursor.execute(
                rows.encode(), (run,)
            ):
                total += 1
                written = code < 32
                right = (words[code], before, after if written else "") == (outcome, was, now)
                wrong += not right or digest(data) != after
        query = "SELECT count(*), count(distinct key) FROM strata_records WHERE run = %s"
        records, keys = db.execute(query, (run,)).fetchone()
        query = "SELECT sum(rows), sum(done), count(*) FROM strata_batches WHERE run = %s"
        planned, done, batches = db.execute(query, (run,)).fetchone()
    print(f"{total:,} rows, {records:,} records, {keys:,} keys, {planned:,} planned and {done:,} done"
          f" in {batches:,} batches, {wrong:,} differ from the oracle")  # fmt: skip
    return 0 if not wrong and total == records == keys == planned == done else 1


if __name__ == "__main__":
    sys.exit({"load": load, "check": check}[sys.argv[1]](*sys.argv[2:]))
