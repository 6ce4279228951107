"""Bulk indexing that checks the answer for every single document.

The client's helpers do less: `parallel_bulk` does not retry rejected documents, `streaming_bulk`
does not prepare one batch while another is indexed, and neither divides a batch that is too large
for a proxy, nor tells a busy server (429, worth a retry) from a full disk (429 too, but final), nor
notices an answer that leaves documents out.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from allusion_es.core.errors import InputError, ServerRefusedError
from allusion_es.es.answers import BULK, COUNT, check_answer, strange_answer
from allusion_es.es.connection import Server, encode
from allusion_es.es.errors import RequestTooLargeError, is_lock, reason_of
from allusion_es.es.partial import find_shortfall

Document = tuple[str, bytes]
"""An id and the JSON of the document."""

# Elasticsearch advises batches of some megabytes; larger ones are not indexed faster, but a node
# holds each in memory. Documents of one verse reach the second limit first.
BATCH_BYTES = 4_000_000
BATCH_DOCUMENTS = 2_000

IN_FLIGHT = 2
"""Batches that are sent at the same time. More would only fill the server's queue."""

_RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses before rejected documents are sent again, each twice as long as the last."""

_SHARD_SECONDS = 10
"""Seconds that the server waits for a shard to be allocated to another node when its own has died.
After that it rejects the documents, and they are sent again after a pause."""


def index_documents(server: Server, index: str, documents: Iterable[Document]) -> int:
    """Index documents; a document replaces one of the same id.

    Args:
        server: The server.
        index: Name of the index.
        documents: Read once, a batch at a time.

    Returns:
        How many documents were indexed: all of them.

    Raises:
        InputError: The server cannot index a document; the message names its id and the
            server's reason, and counts the other failed documents of its batch.
        ServerRefusedError: The server indexes nothing now: full, read-only or overloaded.
        ServerUnavailableError: Nothing answers.
    """
    total = 0
    sending: deque[Future[None]] = deque()
    # The next batch is made here while the server works on those in flight.
    with ThreadPoolExecutor(max_workers=IN_FLIGHT) as threads:
        for batch in _batches(documents):
            # Without this wait all documents would pile up in the executor's queue.
            if len(sending) == IN_FLIGHT:
                sending.popleft().result()
            sending.append(threads.submit(_index_batch, server, index, batch))
            total += len(batch)
        for sent in sending:
            sent.result()
    return total


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Batches of documents, each of limited number and about as many bytes as are allowed."""
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
    """Index one batch, and send those documents again that the server was too busy for."""
    for delay in (*_RETRY_SECONDS, None):
        items = _send(server, index, batch)
        failed = [item for item in items if not 200 <= item["status"] < 300]
        if not failed:
            return
        rejected = {item["_id"] for item in failed if _is_rejection(item)}
        # One document that can never be indexed makes all further tries useless.
        if delay is None or len(rejected) < len(failed):
            raise _failure(failed, server.url)
        batch = [document for document in batch if document[0] in rejected]
        time.sleep(delay)


def _send(server: Server, index: str, batch: list[Document]) -> list[dict[str, Any]]:
    """The server's result for each document; a batch that is too large is sent in halves."""
    path = (
        f"/{index}/_bulk?timeout={_SHARD_SECONDS}s"
        "&filter_path=errors,items.*._id,items.*.status,items.*.error"
    )
    try:
        answer = server.send_lines(path, _lines(batch))
    except RequestTooLargeError:
        half = len(batch) // 2
        if not half:
            raise
        return _send(server, index, batch[:half]) + _send(server, index, batch[half:])
    check_answer(answer, BULK, server.url)
    items: list[dict[str, Any]] = [item["index"] for item in answer["items"]]
    if [item["_id"] for item in items] != [identifier for identifier, _ in batch]:
        raise strange_answer(server.url, "other documents than were sent")
    return items


def count_documents(server: Server, index: str) -> int:
    """The number of documents in an index, as of its last refresh.

    Raises:
        ServerRefusedError: A shard is missing.
    """
    answer = server.request("GET", f"/{index}/_count")
    check_answer(answer, COUNT, server.url)
    if shortfall := find_shortfall(answer):
        raise shortfall.error(server.url)
    count: int = answer["count"]
    return count


def _lines(batch: list[Document]) -> Iterator[bytes]:
    for identifier, document in batch:
        yield encode({"index": {"_id": identifier}})
        yield document


def _is_rejection(item: dict[str, Any]) -> bool:
    """True if a document was not indexed since the server was busy, so that a retry may help."""
    return item["status"] in (429, 503) and not is_lock(item["status"], item)


def _failure(failed: list[dict[str, Any]], url: str) -> InputError | ServerRefusedError:
    kind, reason = reason_of(failed[0])
    others = f", and {len(failed) - 1} others of its batch" if len(failed) > 1 else ""
    message = f"{url} did not index {failed[0]['_id']!r} ({kind}: {reason}){others}"
    if 400 <= failed[0]["status"] < 500 and failed[0]["status"] not in (403, 429):
        return InputError(f"{message}; nothing was changed")
    return ServerRefusedError(f"{message}; free disk space, lift the block, or try again later")
