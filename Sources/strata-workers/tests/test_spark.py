"""Runs the operations on a local Spark session with the fake worker."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "pyspark", reason="pyspark is not installed; Tests/Scripts/workers-spark runs this"
)
pytest.importorskip(
    "pyarrow", reason="pyarrow is not installed; Tests/Scripts/workers-spark runs this"
)
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from strata_workers import spark as S  # noqa: E402
from strata_workers.manifest import RunError, checksum  # noqa: E402


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(session: SparkSession, rows: list[tuple[Any, ...]], schema: str = "") -> DataFrame:
    return session.createDataFrame(rows, schema or "key string, archive binary")


def outcomes(df: DataFrame) -> dict[str, int]:
    return {row[0]: row[1] for row in df.groupBy("outcome").count().collect()}


def archives(count: int) -> list[tuple[str, bytes]]:
    return [(f"k{n}", f"A{1 if n % 2 else 3}:text {n}".encode()) for n in range(count)]


def test_upgrade_gives_each_row_a_status(session: SparkSession, fake_tool: str) -> None:
    rows = [
        ("new", b"A3:a"),
        ("old", b"A1:nick"),
        ("bad", b"?"),
        ("crash", b"A1:crash"),
        ("no", None),
    ]
    metrics = S.usage(session.sparkContext)
    result = S.upgrade(frame(session, rows).coalesce(1), tool=fake_tool, metrics=metrics)
    found = {row.key: row for row in result.collect()}
    assert {key: row.outcome for key, row in found.items()} == {
        "new": "current", "old": "upgraded", "bad": "damaged", "crash": "crashed", "no": "invalid",
    }  # fmt: skip
    old = found["old"]
    assert bytes(old.archive) == b"A3:nick" and old.losses == ["nick"]
    assert (old.type, old.version_from, old.version_to) == ("Issue", 1, 3)
    assert (old.before, old.after) == (checksum(b"A1:nick"), checksum(b"A3:nick"))
    assert found["new"].before == found["new"].after == checksum(b"A3:a")
    assert bytes(found["bad"].archive) == b"?" and found["bad"].code == "damaged"
    assert "SIGTRAP" in found["crash"].message and bytes(found["crash"].archive) == b"A1:crash"
    assert found["no"].archive is None and found["no"].code == "missing"
    usage = metrics.value
    # The first crash is repeated with its neighbours, the second one is at fault.
    assert usage.restarts == 2 and usage.bytes_read == 20 and usage.cpu > 0
    assert outcomes(S.accepted(result)) == {"current": 1, "upgraded": 1}
    assert outcomes(S.rejects(result)) == {"damaged": 1, "crashed": 1, "invalid": 1}


def test_rows_without_a_new_archive_can_be_empty(session: SparkSession, fake_tool: str) -> None:
    rows = [("new", b"A3:a"), ("old", b"A1:b"), ("bad", b"?")]
    result = S.upgrade(frame(session, rows), tool=fake_tool, keep=False).collect()
    assert {row.key: row.archive for row in result if row.archive} == {"old": b"A3:b"}
    verified = S.verify(frame(session, rows), tool=fake_tool).collect()
    assert {row.key: row.outcome for row in verified}["old"] == "intact"
    assert all(row.archive is None for row in verified)


def test_convert_and_merge(session: SparkSession, fake_tool: str) -> None:
    documents = frame(session, [(1, "{}")], "id bigint, json string")
    row = S.convert(documents, tool=fake_tool, key="id", column="json", model="Issue").first()
    assert row and (row.id, row.outcome, bytes(row.json)) == (1, "converted", b"A3:{}")
    schema = "key binary, mine binary, theirs binary, base binary"
    rows: list[tuple[bytes | None, ...]] = [(b"\xff1", b"A3:a", b"A3:b", b"A3:c")]
    rows.append((b"\xff2", b"A3:a", b"A3:b", None))
    rows.append((b"\xff3", b"A3:a", None, b"A3:c"))
    merged = S.merge(
        frame(session, rows, schema), local="mine", server="theirs", base="base", tool=fake_tool
    )
    found = {bytes(row.key): row for row in merged.collect()}
    assert bytes(found[b"\xff1"].mine) == b"A3:a+b+c"
    assert bytes(found[b"\xff2"].mine) == b"A3:a+b"
    assert found[b"\xff3"].code == "missing" and bytes(found[b"\xff3"].mine) == b"A3:a"


def test_one_process_for_a_partition(session: SparkSession, fake_tool: str, tmp_path: Path) -> None:
    counter, tool = tmp_path / "started", tmp_path / "counting"
    tool.write_text(f'#!/bin/sh\necho >>{counter}\nexec {fake_tool} "$@"\n')
    rows = frame(session, archives(25_000)).coalesce(1)
    assert outcomes(S.upgrade(rows, tool=str(tool))) == {"current": 12_500, "upgraded": 12_500}
    assert counter.read_text() == "\n"
    assert S.upgrade(rows.limit(0), tool=str(tool)).count() == 0


def test_large_archives_keep_their_order(session: SparkSession, fake_tool: str) -> None:
    numbers = session.range(0, 60, numPartitions=1)
    text = F.concat(F.lit("A1:"), F.repeat(F.col("id").cast("string"), 500_000))
    df = numbers.select("id", F.encode(text, "utf-8").alias("archive"))
    result = S.upgrade(df, tool=fake_tool, key="id")
    expected = F.concat(F.lit("A3:"), F.repeat(F.col("id").cast("string"), 500_000))
    right = result.where(F.col("archive") == F.encode(expected, "utf-8")).count()
    assert right == 60


def test_sources(session: SparkSession, fake_tool: str, tmp_path: Path) -> None:
    pairs = session.sparkContext.parallelize([(k, bytearray(v)) for k, v in archives(10)])
    types = ("org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable")
    pairs.saveAsNewAPIHadoopFile(
        str(tmp_path / "seq"),
        "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat",
        *types,
    )
    df = S.read(session, str(tmp_path / "seq"), "sequence")
    assert outcomes(S.upgrade(df, tool=fake_tool)) == {"current": 5, "upgraded": 5}
    (tmp_path / "files/inner").mkdir(parents=True)
    for key, data in archives(4):
        (tmp_path / "files/inner" / key).write_bytes(data)
    df = S.read(session, str(tmp_path / "files"), "folder")
    keys = [row.key for row in S.upgrade(df, tool=fake_tool).collect()]
    assert sorted(os.path.basename(key) for key in keys) == ["k0", "k1", "k2", "k3"]


def test_a_repeated_run_does_the_rest(
    session: SparkSession, fake_tool: str, tmp_path: Path
) -> None:
    df, out, steps = frame(session, archives(200)), str(tmp_path / "out"), []

    def failing(rows: DataFrame, **arguments: Any) -> DataFrame:
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return S.upgrade(rows, **arguments)

    failing.__name__ = "upgrade"
    with pytest.raises(KeyboardInterrupt):
        S.run(df, out, "r", failing, steps=4, tool=fake_tool)
    with pytest.raises(RunError, match="2 of 4 steps of .* have no commit"):
        S.complete(out, "r")
    assert 0 < S.results(out, "r").count() < 200
    times = [(path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.parquet")]
    # A killed driver leaves a step that has files and no commit.
    shutil.copytree(f"{out}/run=r/step=0", f"{out}/run=r/step=2")
    totals = S.run(df, out, "r", failing, steps=4, tool=fake_tool)
    assert totals["outcomes"] == {"current": 100, "upgraded": 100} and len(steps) == 5
    assert [(path, path.stat().st_mtime_ns) for path, _ in times] == times
    assert (
        S.complete(out, "r", df) == totals == S.run(df, out, "r", failing, steps=4, tool=fake_tool)
    )
    keys = {row.key for row in S.results(out, "r").collect()}
    assert len(keys) == S.results(out, "r").count() == 200 and len(steps) == 5
    with pytest.raises(RunError, match="run r began with the source"):
        S.run(df.limit(199), out, "r", steps=4, tool=fake_tool)
    with pytest.raises(RunError, match="run r began with the operation"):
        S.run(df, out, "r", S.verify, steps=4, tool=fake_tool)


def test_rejected_records_are_logged(
    session: SparkSession, fake_tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*archives(40), ("bad", b"?"), *((f"worse {n}", b"?") for n in range(30))]
    S.run(frame(session, rows), str(tmp_path), "r", steps=4, tool=fake_tool)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rejected ")]
    assert len(lines) == 20 and all("outcome=damaged" in line for line in lines)


def test_a_task_with_another_tool_fails(session: SparkSession, fake_tool: str) -> None:
    greeting = {"protocol": 1, "program": "another", "models": []}
    with pytest.raises(PySparkException, match="was replaced by another program"):
        S.upgrade(frame(session, archives(4)), tool=fake_tool, greeting=greeting).collect()


def test_lost_or_changed_results_are_found(
    session: SparkSession, fake_tool: str, tmp_path: Path
) -> None:
    df, out = frame(session, archives(100)), str(tmp_path / "out")
    S.run(df, out, "r", steps=2, tool=fake_tool)
    other = df.withColumn("archive", F.when(F.col("key") == "k7", b"A1:x").otherwise(df.archive))
    with pytest.raises(RunError, match="pairs of the input, read again,"):
        S.complete(out, "r", other)
    file = next((tmp_path / "out/run=r/step=1").glob("*.parquet"))
    file.unlink()
    with pytest.raises(RunError, match="run r is incomplete: records of the input are 100"):
        S.complete(out, "r")


def test_a_worker_that_does_not_start(
    session: SparkSession, fake_tool: str, tmp_path: Path
) -> None:
    df, out = frame(session, archives(2)), str(tmp_path / "out")
    with pytest.raises(RunError, match="^cannot start /no/such/tool"):
        S.run(df, out, "r", tool="/no/such/tool")
    with pytest.raises(RunError, match="^[^ ]*faketool is not a worker: "):
        S.run(df, out, "r", tool=fake_tool, options=("--garbage",))
    assert not os.path.exists(out)


def test_sample(session: SparkSession, fake_tool: str) -> None:
    usage, total = S.sample(frame(session, archives(3000)), size=200, tool=fake_tool)
    assert total == 3000 and usage.records == 200 and usage.seconds > 0
    assert usage.bytes_read > usage.bytes_written > 0
