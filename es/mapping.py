"""Settings and mappings of new indexes, from the files in `mappings/`."""

import json
from pathlib import Path
from typing import Any, Literal

from allusion_es.es.meta import CITATION_VECTOR, EXPANSION, Meta
from allusion_es.retrieval.types import FIELDS

# Folders lie side by side in the checkout and where they are installed.
_MAPPINGS = Path(__file__).parents[1] / "mappings"


def index_body(kind: Literal["passages", "terms"], shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of a new index, as the file has them."""
    body: dict[str, Any] = json.loads((_MAPPINGS / f"{kind}.json").read_text(encoding="utf-8"))
    body["settings"]["index"] |= {"number_of_shards": shards, "number_of_replicas": replicas}
    return body


def passages_body(meta: Meta, shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of the index that holds the passages."""
    body = index_body("passages", shards, replicas)
    similarity = body["settings"]["index"]["similarity"]["words"]
    similarity |= {"k1": meta.settings.k1, "b": meta.settings.b}
    properties = body["mappings"]["properties"]
    for field in FIELDS:
        if meta.dimension:
            options = {"dims": meta.dimension, "index_options": {"type": meta.knn}}
            properties[f"{field}_vector"] |= options
        else:
            del properties[f"{field}_vector"]
    if meta.citation_dimension:
        options = {"dims": meta.citation_dimension, "index_options": {"type": meta.knn}}
        properties[CITATION_VECTOR] |= options
    else:
        del properties[CITATION_VECTOR]
    if "expansion" not in meta.parts:
        del properties[EXPANSION]
    body["mappings"]["_meta"] = meta.to_json()
    return body
