"""Projects the time, the size and the processor time of a run from a sample."""

from .metrics import Usage, duration, failures, summary


def plan_text(sample: Usage, total: int, workers: int) -> str:
    """Returns the projection for `total` records.

    It assumes that each worker is as fast as the one of the sample.
    """
    each, failed = total / max(sample.records, 1), failures(sample.counts)
    seconds = sample.seconds * each / workers
    # Without a failure in n records, at most 3 / n of all fail, with 95 % confidence.
    most = min(total, (failed + 1.96 * failed**0.5 + 3) * each)
    return (
        f"A sample of {summary(sample.counts)}\n"
        f"All {total:,} records with {workers} worker{'' if workers == 1 else 's'}:\n"
        f"  time           {duration(seconds)}\n"
        f"  rate           {total / max(seconds, 1e-9):,.0f} records/s\n"
        f"  worker CPU     {duration(sample.cpu * each)}\n"
        f"  bytes read     {sample.bytes_read * each:,.0f}\n"
        f"  bytes written  {sample.bytes_written * each:,.0f}\n"
        f"  rejected       {failed * each:,.0f}, at most {most:,.0f}"
    )
