"""What the coefficients of agreement come to for spans that are made up.

    python benchmarks/agreement_by_chance.py

Prints the table of docs/agreement.md: some annotators mark at random, some nearly agree.
"""

from collections.abc import Callable

import numpy as np

from allusion_es.annotation.agreement.measures import measure_agreement
from allusion_es.annotation.spans import SpanAnnotation

INSTANCES, ANNOTATORS, TOKENS, ANCHOR = 5000, 3, 45, 22
RANDOM = np.random.default_rng(0)
Spans = list[tuple[int, int]]


def around(left: int, right: int) -> tuple[int, int]:
    return ANCHOR - left, ANCHOR + 1 + right


def draw(most: int) -> int:
    return int(RANDOM.integers(most + 1))


def uniform(most: int) -> Spans:
    return [around(draw(most), draw(most)) for _ in range(ANNOTATORS)]


def geometric() -> Spans:
    ends = np.minimum(RANDOM.geometric(0.5, (ANNOTATORS, 2)) - 1, 20)
    return [around(int(left), int(right)) for left, right in ends]


def anywhere() -> Spans:
    return [(start, start + 8) for start in (draw(TOKENS - 8) for _ in range(ANNOTATORS))]


def anchor_alone() -> Spans:
    return [around(0, 0)] * ANNOTATORS if RANDOM.random() < 0.4 else uniform(12)


def nearly(off: int) -> Spans:
    left, right = draw(6), draw(6)
    return [
        around(max(0, left + draw(2 * off) - off), max(0, right + draw(2 * off) - off))
        for _ in range(ANNOTATORS)
    ]


def some_identical(length: int) -> Spans:
    half = length // 2
    return [around(half, half)] * ANNOTATORS if RANDOM.random() < 0.3 else nearly(3)


MODELS: list[tuple[str, Callable[[], Spans]]] = [
    ("random: 0 to 6 tokens to each side of the anchor", lambda: uniform(6)),
    ("random: 0 to 2 tokens to each side", lambda: uniform(2)),
    ("random: a further token to each side with probability 1/2", geometric),
    ("random: 8 tokens anywhere", anywhere),
    ("random: the anchor alone in 40 % of instances, else 0 to 12", anchor_alone),
    ("good: both ends within 1 token of the same span", lambda: nearly(1)),
    ("mixed: within 3 tokens; 30 % identical, of 5 tokens", lambda: some_identical(5)),
    ("mixed: within 3 tokens; 30 % identical, of 31 tokens", lambda: some_identical(31)),
]


def main() -> None:
    print("| spans | O_o | O_e | κ | uα |\n|---|---|---|---|---|")
    for name, model in MODELS:
        annotations = [
            SpanAnnotation(str(number), f"a{who}", start, end, tokens=TOKENS)
            for number in range(INSTANCES)
            for who, (start, end) in enumerate(model())
        ]
        t = measure_agreement(annotations, resamples=0).total
        print(
            f"| {name} | {t.observed_overlap:.2f} | {t.expected_overlap:.2f} "
            f"| {t.kappa:.2f} | {t.alpha:.2f} |"
        )


if __name__ == "__main__":
    main()
