"""Faults between the program and its server: the right answer, or one line, and nothing harmed."""

import sys
from pathlib import Path

from fault_proxy import FAULTS, fault_proxy

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from fault_commands import Bench, attempts


def test_every_fault_once_and_every_command(elasticsearch_url_any: str, tmp_path: Path) -> None:
    with fault_proxy(elasticsearch_url_any) as proxy:
        bench = Bench(elasticsearch_url_any, proxy, tmp_path)
        try:
            tried = list(attempts(bench, 0.0, 7))
        finally:
            bench.close()
    assert [each for each in tried if each.verdict not in ("right", "clear")] == []
    assert {each.fault for each in tried} == set(FAULTS)
    assert {each.command for each in tried} == set(bench.commands)
    # Both come about: what is broken once is done all the same, what always is cannot be.
    assert {each.verdict for each in tried} == {"right", "clear"}
    assert max(each.seconds for each in tried) < 60
