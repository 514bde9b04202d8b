"""Projects the time, the size and the processor time of a run from a sample."""

from .metrics import Usage, duration, failures, summary


def projection(sample: Usage, total: int, workers: int) -> dict[str, object]:
    """Returns the projection for `total` records.

    It assumes that each worker is as fast as the one of the sample.
    """
    records = max(sample.records, 1)
    failed = failures(sample.counts)
    return {
        "sample": sample.records,
        "counts": dict(sample.counts),
        "total": total,
        "workers": workers,
        "seconds": round(total * sample.seconds / records / workers, 1),
        "cpu_seconds": round(total * sample.cpu / records, 1),
        "bytes_read": round(total * sample.bytes_read / records),
        "bytes_written": round(total * sample.bytes_written / records),
        "records_per_second": round(records * workers / max(sample.seconds, 1e-9)),
        "rejected": round(total * failed / records),
        # Without a failure in n records, at most 3 / n of all fail, with 95 % confidence.
        "rejected_at_most": round(total * (failed + 1.96 * failed**0.5 + 3) / records),
    }


def plan_text(sample: Usage, total: int, workers: int) -> str:
    """Returns the projection as text."""
    plan = projection(sample, total, workers)
    return (
        f"A sample of {summary(sample.counts)}\n"
        f"All {total:,} records with {workers} worker{'' if workers == 1 else 's'}:\n"
        f"  time           {duration(float(str(plan['seconds'])))}\n"
        f"  rate           {plan['records_per_second']:,} records/s\n"
        f"  worker CPU     {duration(float(str(plan['cpu_seconds'])))}\n"
        f"  bytes read     {plan['bytes_read']:,}\n"
        f"  bytes written  {plan['bytes_written']:,}\n"
        f"  rejected       {plan['rejected']:,}, at most {plan['rejected_at_most']:,}"
    )
