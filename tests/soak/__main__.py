"""Run the soak test as long as one likes: ``python -m tests.soak --turns 20000 --seed 7``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.soak.killed import killed
from tests.soak.sessions import shares, soaked


@click.command()
@click.option("--turns", default=2000, show_default=True, help="Of all sessions together.")
@click.option("--seed", default="foldlog", show_default=True, help="What all chances come from.")
@click.option("--kills", default=25, show_default=True, help="Turns of the one that is killed.")
@click.option("--only", default="", help="Only the sessions whose names hold this.")
def main(turns: int, seed: str, kills: int, only: str) -> None:
    """Run it; an error tells what does not hold."""
    for kind, share in shares(turns):
        if only in str(kind):
            with TemporaryDirectory() as folder:
                found = soaked(kind, share, seed, Path(folder))
            growth = ", ".join(f"{name} {times:.2f}" for name, times in found.growth.items())
            click.echo(f"{kind}: {share} turns, {found.requests} requests; growth: {growth}")
    if not only:
        with TemporaryDirectory() as folder:
            click.echo(f"killed {killed(kills, seed, Path(folder))} times in {kills} turns")


if __name__ == "__main__":
    main()
