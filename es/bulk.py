"""Bulk indexing that looks at the answer for every single document."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from allusion_es.core.errors import InputError, ServerRefusedError
from allusion_es.es.connection import Server, encode
from allusion_es.es.failures import reason_of

Document = tuple[str, bytes]
"""An id and the encoded document."""

BATCH_BYTES = 4_000_000
BATCH_DOCUMENTS = 2_000
IN_FLIGHT = 2

_RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0)


def index_documents(server: Server, index: str, documents: Iterable[Document]) -> int:
    """Index all documents; those with an id that is there already replace what is there.

    Returns:
        How many there were.

    Raises:
        InputError: The server cannot take a document; the message names its id and the
            server's reason, and counts the others of its batch.
        ServerRefusedError: The server takes no documents now: full, read-only, overloaded.
        ServerUnavailableError: Nothing answers.
    """
    total = 0
    sending: deque[Future[None]] = deque()
    # While the server works on some batches, the next is made ready.
    with ThreadPoolExecutor(max_workers=IN_FLIGHT) as threads:
        for batch in _batches(documents):
            if len(sending) == IN_FLIGHT:
                sending.popleft().result()
            sending.append(threads.submit(_index_batch, server, index, batch))
            total += len(batch)
        for sent in sending:
            sent.result()
    return total


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document[1])
        if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _index_batch(server: Server, index: str, batch: list[Document]) -> None:
    """Index one batch; documents that an overloaded server rejects are sent again."""
    path = f"/{index}/_bulk?filter_path=errors,items.*._id,items.*.status,items.*.error"
    for delay in (*_RETRY_SECONDS, None):
        answer = server.send_lines(path, _lines(batch))
        if not answer["errors"]:
            return
        failed = [item["index"] for item in answer["items"] if "error" in item["index"]]
        rejected = {item["_id"] for item in failed if _is_rejection(item)}
        if delay is None or len(rejected) < len(failed):
            raise _failure(failed, server.url)
        batch = [document for document in batch if document[0] in rejected]
        time.sleep(delay)


def _lines(batch: list[Document]) -> Iterator[bytes]:
    for identifier, document in batch:
        yield encode({"index": {"_id": identifier}})
        yield document


def _is_rejection(item: dict[str, Any]) -> bool:
    blocked = item["error"].get("type") == "cluster_block_exception"
    return bool(item["status"] == 429) and not blocked


def _failure(failed: list[dict[str, Any]], url: str) -> InputError | ServerRefusedError:
    kind, reason = reason_of(failed[0])
    others = f", and {len(failed) - 1} others of its batch" if len(failed) > 1 else ""
    message = f"{url} did not index {failed[0]['_id']!r} ({kind}: {reason}){others}"
    if 400 <= failed[0]["status"] < 500 and failed[0]["status"] not in (403, 429):
        return InputError(f"{message}; nothing was changed")
    return ServerRefusedError(f"{message}; free disk space, lift the block, or try again later")
