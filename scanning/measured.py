"""The scope of the calibration: the collection, index settings and options for which it holds."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.corpora.passage import Passage
from allusion_es.retrieval.index import CandidateIndex, IndexSettings, is_bible
from allusion_es.scanning.model import (
    MOST,
    RANKED,
    Calibration,
    Point,
    ScanOptions,
    calibration,
    ranked_calibration,
    shipped,
)

_SAMPLE = 256
"""Passages by whose text a collection is recognised: few enough for one request to a server."""


@dataclass(frozen=True, slots=True)
class MeasuredOn:
    """The collection on which the models were fitted and measured, and how it was built.

    It is recognised by its passages, not by its name: anyone may call a table `vulgate`, and the
    Vulgate may have any name, in this process or on a server.

    Attributes:
        passages: Number of its passages.
        ids: Some of them, spread over the whole.
        digest: `text_digest` of these.
        settings: Settings of its index on which findings depend, as `_settings` gives them.
        citations: Name of its citation vectors.
    """

    passages: int
    ids: tuple[str, ...]
    digest: str
    settings: tuple[object, ...]
    citations: str

    def is_collection(self, index: CandidateIndex) -> bool:
        """Whether an index holds this collection."""
        if len(index) != self.passages:
            return False
        try:
            return text_digest(index.passages(self.ids)) == self.digest
        except VerseError:  # one of them is not there
            return False

    def to_json(self) -> dict[str, object]:
        """The description as plain values, for `scan.json`."""
        return {
            "passages": self.passages,
            "digest": self.digest,
            "settings": list(self.settings),
            "citations": self.citations,
            "ids": list(self.ids),
        }


def measured_on(index: CandidateIndex) -> MeasuredOn:
    """The description of an index on which something was just measured."""
    ids = index.ids()
    sample = tuple(ids[:: max(1, len(ids) // _SAMPLE)][:_SAMPLE])
    digest = text_digest(index.passages(sample))
    settings = index.settings
    return MeasuredOn(len(ids), sample, digest, _settings(settings), settings.citations)


def text_digest(passages: Sequence[Passage]) -> str:
    """A hash of the ids and texts of passages, in this order.

    Example:
        >>> text_digest([Passage("Ps.33.9", "Gustate")])[:8]
        '763f9d5f'
    """
    told = json.dumps([[passage.id, passage.text] for passage in passages])
    return hashlib.sha256(told.encode()).hexdigest()


def unmeasured(index: CandidateIndex, options: ScanOptions) -> str:
    """The reason why probabilities and figures of the models do not hold for a scan; "" if they do.

    They hold for the collection, the settings and the citation vectors that they were measured
    with, where all passages may be found and all alternatives are kept: a finding counted as
    right if one of its alternatives was. Those of a collection other than the Bible are measured
    by `allusion-es learn`.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Ps.33.9": "Gustate et uidete"}, verses=True)
        >>> unmeasured(index, ScanOptions())
        'not calibrated for this collection, only for the Vulgate'
        >>> unmeasured(index_texts({"aen.1.1": "Arma uirumque cano"}), ScanOptions())
        "not calibrated for this collection, which 'allusion-es learn' does from known places"
    """
    if is_ranked(index, options):
        record = _learned(index)
        known = None if record is None else _measured_on(record)
        if known is None or not known.is_collection(index):
            return (
                "not calibrated for this collection, which 'allusion-es learn' does from known "
                "places"
            )
    else:
        known = _shipped()
        if not known.is_collection(index):
            return "not calibrated for this collection, only for the Vulgate"
    built = index.settings
    if _settings(built) != known.settings:
        return "not calibrated for an index that was built with other settings than the default"
    # A fast scan uses no citation vectors; without any, the model is one that needs none.
    if not options.fast and built.citations not in ("", known.citations):
        return (
            "not calibrated for these citation vectors, only for those that come with the program"
        )
    if not options.search_filter.is_whole:
        return "not calibrated for a part of the collection, only for the whole"
    if options.top != MOST:
        return f"not calibrated for {options.top} passages a finding, only for {MOST}"
    return ""


def is_ranked(index: CandidateIndex, options: ScanOptions) -> bool:
    """Whether a scan reads by the ranker (`scanning.ranked`): of the Bible more is known."""
    return not options.fast and index.citations is None and not is_bible(index)


def scan_model(index: CandidateIndex, options: ScanOptions) -> Calibration:
    """The model of a scan: that which was learned for the index, or one that comes along.

    Raises:
        InputError: What was learned for the index is not on this machine, or damaged.
    """
    if is_ranked(index, options):
        record = _learned(index)
        return calibration(RANKED) if record is None else ranked_calibration(record)
    if options.fast:
        return calibration("fast")
    return calibration("default" if index.citations is not None else "words")


def measured_points(index: CandidateIndex, options: ScanOptions) -> tuple[Point, ...]:
    """What was measured of a scan's model, by ascending threshold; none where it does not hold."""
    if unmeasured(index, options):
        return ()
    return scan_model(index, options).points


LEARNED = ".scan-model"
"""The end of the names of files with the model of a scan; they lie beside the index's ranker."""


def _learned(index: CandidateIndex) -> Mapping[str, Any] | None:
    """The plain values of the model that was learned for an index, if there is one."""
    if index.ranker is None:
        return None
    path = index.ranker.with_suffix(LEARNED)
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_bytes())
        _measured_on(record)
        ranked_calibration(record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise InputError(
            f"{path}: not the model of a scan ({error}); learn it again with 'allusion-es learn'"
        ) from error
    return cast(Mapping[str, Any], record)


def _settings(settings: IndexSettings) -> tuple[object, ...]:
    """The settings on which findings depend; word vectors are not among them."""
    analysis = settings.analysis
    return (analysis.lemmatiser, analysis.stop_words, settings.k1, settings.b)


@cache
def _shipped() -> MeasuredOn:
    """The collection that the models which come with the program were measured on."""
    return _measured_on(shipped())


def _measured_on(data: Mapping[str, Any]) -> MeasuredOn:
    record = data["measured_on"]
    return MeasuredOn(
        record["passages"],
        tuple(record["ids"]),
        record["digest"],
        tuple(record["settings"]),
        record["citations"],
    )
