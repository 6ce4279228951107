"""Examples for rankers on disk: gold links with the features of their candidates, a file a fold."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.examples import LinkExample, thinned
from allusion_es.learning.ranker import Example


@dataclass(frozen=True)
class KeptExample:
    """A link's candidates, as they are kept.

    Attributes:
        file: Name of the gold file, "" for one of the many links.
        author: Who wrote its words, or "".
        work: The work it is from.
        text: Its words.
        type: Its kind.
        shared: Most lemmas, stop words aside, that it shares with a passage that it cites.
        example: Features of its candidates, and which are relevant.
    """

    file: str
    author: str
    work: str
    text: str
    type: str
    shared: int
    example: Example


def save_examples(path: Path, examples: Iterable[tuple[str, int, LinkExample]]) -> None:
    """Write examples, whole or not at all.

    Of gold links all candidates are kept, since on them a ranker is measured; of other links those
    that it is learned from (`thinned`).

    Args:
        path: The file.
        examples: Each with the name of its gold file, or "", and how many lemmas it shares.
    """
    facts: list[list[str | int]] = []
    values: list[NDArray[np.float32]] = []
    relevant: list[NDArray[np.bool_]] = []
    names: tuple[str, ...] = ()
    for file, shared, one in examples:
        names = one.names
        link = one.link.link
        facts.append([file, link.author, link.work, link.query.text, link.type, shared])
        kept = one.example if file else thinned(one.example, link.query.text)
        values.append(kept.values)
        relevant.append(kept.relevant)
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        names=np.array(names),
        facts=np.array(json.dumps(facts)),
        sizes=np.array([len(one) for one in relevant]),
        values=np.concatenate(values),
        relevant=np.concatenate(relevant),
    )
    part.replace(path)


def read_examples(path: Path) -> tuple[tuple[str, ...], list[KeptExample]]:
    """The names of features, and the examples of a file that `save_examples` wrote."""
    with np.load(path) as opened:
        arrays = {name: opened[name] for name in opened.files}
    facts = json.loads(str(arrays["facts"]))
    ends = np.cumsum(arrays["sizes"]).tolist()
    examples = []
    for fact, start, end in zip(facts, [0, *ends], ends, strict=False):
        file, author, work, text, kind, shared = fact
        example = Example(arrays["values"][start:end], arrays["relevant"][start:end])
        examples.append(KeptExample(file, author, work, text, kind, shared, example))
    return tuple(str(name) for name in arrays["names"].tolist()), examples
