"""Clients of a cluster get the same answers, round for round."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import soak


@pytest.mark.usefixtures("servers_run", "data_folder")
def test_two_clients_for_some_rounds() -> None:
    options = {"minutes": 5, "rounds": 2, "clients": 2, "queries": 4, "pause": 0, "verses": 300}
    total = soak.soak(Namespace(**options, kill_every=0, report=60))
    assert (total.errors, total.wrong) == (0, 0)
    # Each has asked 4 queries in two ways and scanned a text, and then again.
    assert total.rounds >= 4
    assert total.answers >= 2 * 2 * (2 * 4 + 1)
