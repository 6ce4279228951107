"""Learns how likely a scan's findings are; with this `scanning/scan.json` is made.

    python benchmarks/calibrate_scan.py --fold INDEX GOLD.jsonl ... --fold ... --plain TEXT ...

    --fold INDEX FILE ...  an index, by its name in the data folder, and gold links with `before`
                      and `after` of works that its citation vectors were not learned from: what an
                      editor printed is right, other passages for the same words are wrong, what
                      stands around is left out; at least two
    --more FOLD FILE ...   more links for the fold of that number, from 0: on which is learned, but
                      not measured
    --plain FILE ...  texts that cannot allude, such as Caesar: all that is found there is wrong
    --citations NAME  the citation vectors that the models are for (default: those that come with
                      the program)
    --out FILE        where to write

What is measured of a fold comes from a model fitted on the others. Printed: how often findings of a
probability are right, and for thresholds the precision (of findings on the gold words and in plain
text) and the recall (of gold links). It needs LightGBM (extra `train`).
"""

import argparse
from pathlib import Path

from allusion_es.evaluation.gold.files import read_gold
from allusion_es.learning.scan_model import (
    Measurements,
    ScanFold,
    learn_scan_models,
    scan_record,
    write_scan_models,
)
from allusion_es.local.library import Library


def show(title: str, measured: Measurements) -> None:
    print(f"{title}\n  threshold  precision  recall")
    for point in measured.points:
        print(f"  {point.threshold:9.2f}  {point.precision:9.3f}  {point.recall:6.3f}")
    print("  probability  findings  right")
    for low, count, right in measured.bins:
        print(f"  {low:.1f} to {low + 0.1:.1f}  {count:9}  {right:.3f}", flush=True)


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fold", nargs="+", action="append", required=True)
    parser.add_argument("--more", nargs="+", action="append", default=[])
    parser.add_argument("--plain", type=Path, nargs="+", required=True)
    parser.add_argument("--citations")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if len(arguments.fold) < 2:
        parser.error("give --fold at least twice")
    library = Library()
    more = {int(number): paths for number, *paths in arguments.more}
    folds = [
        ScanFold(
            library.open(name),
            [link for path in paths for link in read_gold(Path(path))],
            [link for path in more.get(number, ()) for link in read_gold(Path(path))],
        )
        for number, (name, *paths) in enumerate(arguments.fold)
    ]
    shipped = library.models.shipped()
    citations = arguments.citations or (shipped.name if shipped else "")
    models = {}
    for name, model, measured in learn_scan_models(folds, arguments.plain):
        show(f"{name}, held out", measured)
        models[name] = model
    if arguments.out:
        write_scan_models(arguments.out, scan_record(models, folds[0].index, citations))


if __name__ == "__main__":
    main()
