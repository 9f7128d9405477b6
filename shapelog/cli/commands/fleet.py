"""``shapelog fleet``: what the tables of many jobs have in common."""

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import click

from shapelog.cli.options import CommonOptions, list_options, output_options, rendering
from shapelog.cli.output import Output, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

_AGO = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--since",
    metavar="WHEN",
    help="Also show what is worse in jobs that began at or after WHEN than in earlier ones: 7d, 12h or 2w ago, or a date such as "
    "2026-01-31 or 2026-01-31T08:00 (UTC).",
)
@list_options("Show everything: all entries of each list.")
@output_options(formats("fleet"), with_trace=False)
def fleet(folder: str, since: str | None, options: CommonOptions) -> int:
    """Report on the tables in DIR, which shapelog tables wrote: what many jobs have in common.

    Shows which advice would save the most compile time over all jobs, the top causes, what failed, and the jobs that could not be
    read; with --since also which functions recompile more, take longer or fail more often than before.
    """
    moment = None if since is None else parse_since(since, datetime.now(timezone.utc))
    from shapelog.tables import fleet as fleets

    return write_outputs(Output(rendering("fleet", fleets.fleet(Path(folder), moment), options)), options)


def parse_since(text: str, now: datetime) -> datetime:
    """``7d`` before ``now``, or a date in UTC. Raises ShapelogError for anything else."""
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        date = datetime.fromisoformat(text.strip())
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError) as error:
        raise ShapelogError(f"--since {text}: neither a time ago such as 7d, 12h or 2w, nor a date such as 2026-01-31") from error
