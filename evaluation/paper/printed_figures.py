"""The figures that the paper prints, for its own gold links: Bernard of Clairvaux's sermons.

Source: Manjavacas, Long and Kestemont 2019, tables 1 to 4. They are printed beside ours
for orientation only: collection, lemmatiser and links are others.
"""

from allusion_es.evaluation.methods import ORACLE
from allusion_es.retrieval.types import Field

NOTE = "paper: 729 allusions in sermons of Bernard of Clairvaux, another gold set"

Triple = tuple[float, float, float]
"""MRR, P@10 and P@20, from 0 to 100."""

OVERLAP: dict[str, tuple[float, ...]] = {
    "quotation": (0.37, 0.23, 0.37, 0.22, 6.69, 4.55, 15.12, 5.99, 1768),
    "mention": (0.26, 0.18, 0.31, 0.18, 7.47, 5.52, 16.24, 6.20, 3150),
    "allusion": (0.06, 0.07, 0.13, 0.10, 6.86, 4.83, 17.22, 6.58, 729),
}
"""Table 1 by link type: means and deviations of Jaccard (token, lemma), lengths; count.

For allusions, the last row of the table, whose spans are annotated; the reference length is that
of the row above.
"""

MODELS: dict[tuple[str, Field], Triple] = {
    ("bow", "token"): (11.85, 20.16, 25.38),
    ("bow", "lemma"): (15.07, 27.30, 34.16),
    ("tfidf", "token"): (16.42, 30.59, 35.94),
    ("tfidf", "lemma"): (19.51, 34.43, 43.35),
    ("tesserae", "token"): (12.39, 19.20, 22.22),
    ("tesserae", "lemma"): (13.36, 25.79, 30.86),
    ("bow-emb", "token"): (8.54, 15.50, 20.44),
    ("bow-emb", "lemma"): (9.82, 16.87, 22.63),
    ("tfidf-emb", "token"): (9.59, 18.11, 24.14),
    ("tfidf-emb", "lemma"): (11.13, 20.99, 26.20),
    ("wmd", "token"): (13.68, 24.14, 27.85),
    ("wmd", "lemma"): (14.07, 25.38, 31.28),
    ("soft-cosine-wordnet", "lemma"): (19.75, 35.25, 44.44),
    ("soft-cosine", "token"): (21.41, 37.31, 44.31),
    ("soft-cosine", "lemma"): (21.95, 39.64, 47.60),
    (ORACLE, "token"): (17.01, 29.22, 33.61),
    (ORACLE, "lemma"): (16.18, 31.14, 38.27),
}
"""Table 2 by model and input."""

SIMILARITIES: dict[tuple[str, Field], Triple] = {
    ("SC_emb", "token"): (21.41, 37.31, 44.31),
    ("SC_emb", "lemma"): (21.95, 39.64, 47.60),
    ("SC_w2v", "token"): (19.26, 33.33, 39.09),
    ("SC_w2v", "lemma"): (20.18, 36.35, 43.90),
    ("SC_rnd", "token"): (18.56, 31.28, 36.76),
    ("SC_rnd", "lemma"): (20.22, 35.67, 43.48),
}
"""Table 3 by source of the word similarities and input."""

WINDOWS: dict[tuple[str, Field], Triple] = {
    ("manual", "token"): (21.41, 37.31, 44.31),
    ("manual", "lemma"): (21.95, 39.64, 47.60),
    ("3", "token"): (13.41, 25.79, 31.41),
    ("3", "lemma"): (14.67, 25.93, 32.78),
    ("10", "token"): (13.98, 25.10, 31.41),
    ("10", "lemma"): (14.69, 26.47, 34.57),
}
"""Table 4 by segmentation and input."""
