"""How queries are answered where nothing else is said: one object, which all who ask read.

The command line, the search page and its API, `import allusion_es` and `evaluate` take what is not
chosen from `DEFAULTS`, so that one question has one answer whichever way it is asked; the tables of
the paper take it from `PAPER`. This module imports nothing heavy: the command line shows its values
in the help, which must not wait for numpy.
"""

from typing import Literal, NamedTuple


class Defaults(NamedTuple):
    """A value for each choice of a query, by the names of the command line.

    Attributes:
        name: The index that is searched.
        first_stage: A generator, or one of `options.STAGES`.
        field: Which words the first stage compares, of `options.FIELD_CHOICES`.
        candidates: How many candidates the first stage hands on to the reranker.
        rerank: A reranker; `none` keeps the order of the first stage.
        top: How many passages are returned.
        group: Whether passages that say nearly the same are one hit.
    """

    name: str = "vulgate"
    first_stage: str = "fused"
    field: Literal["token", "lemma", "both"] = "lemma"
    # With more candidates the default reranker finds no more.
    candidates: int = 150
    rerank: str = "learned"
    top: int = 10
    group: bool = True


DEFAULTS = Defaults()
"""What everyone gets who chooses nothing; the measurements behind it are in `docs/quality.md`."""

PAPER = Defaults(first_stage="all", candidates=500, rerank="soft-cosine", group=False)
"""What the paper's tables are computed with: its best model on every passage of the index."""
