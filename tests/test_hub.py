"""Models of the Hugging Face hub, fetched by its own library from a stand-in on this machine."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import little_models
import pytest
from processes import Run

from allusion_es.core.errors import DownloadError, InputError
from allusion_es.language.encoders.models import find_model, find_recorded
from allusion_es.language.encoders.pairs import CrossEncoder
from allusion_es.language.encoders.sentences import choose_encoder, recorded_encoder
from allusion_es.language.encoders.settings import EncoderChoice

NAME = "schola/parva"
COMMIT = "c0ffee" + "0" * 34


class Hub(ThreadingHTTPServer):
    """Has the files of one model, some of them broken, and remembers what it was asked for."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.seen: list[str] = []
        self.broken: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def files(self) -> dict[str, bytes]:
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}


class _Handler(BaseHTTPRequestHandler):
    """Answers as the hub does: a commit for a revision, its files, and each of them."""

    server: Hub

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.server.seen.append(f"{self.command} {path}")
        files = self.server.files()
        api = f"/api/models/{NAME}"
        if path in (f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            siblings = [{"rfilename": name} for name in files]
            self._answer(json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode())
        elif path == f"{api}/tree/{COMMIT}":
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": _etag(data)}
                for name, data in files.items()
            ]
            self._answer(json.dumps(tree).encode())
        elif path.startswith(f"/{NAME}/resolve/{COMMIT}/"):
            name = path.removeprefix(f"/{NAME}/resolve/{COMMIT}/")
            if name in files and name not in self.server.broken:
                self._answer(files[name], "application/octet-stream")
            else:
                self._missing("EntryNotFound")
        else:
            self._missing("RepoNotFound")

    do_HEAD = do_GET

    def _answer(self, data: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{_etag(data)}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def _missing(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing: `seen` has it."""


def _etag(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    little_models.encoder(tmp_path / "on-the-hub")
    (tmp_path / "on-the-hub" / "pytorch_model.bin").write_bytes(b"\0" * 1_000)
    with Hub(tmp_path / "on-the-hub") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        server.shutdown()
        thread.join()


def test_a_model_is_fetched_once_and_its_commit_is_recorded(hub: Hub, tmp_path: Path) -> None:
    encoder = choose_encoder(EncoderChoice(NAME), tmp_path)
    settings = encoder.settings
    assert (settings.model, settings.revision, settings.pooling) == (NAME, COMMIT, "mean")
    assert settings.name == f"{NAME} {COMMIT[:19]}"
    assert encoder.query("caritas") == pytest.approx((0.6, 0.8), abs=1e-6)
    fetched = {each.rpartition("/")[2] for each in hub.seen if "/resolve/" in each}
    assert {"model.onnx", "tokenizer.json", "config.json"} <= fetched
    assert "pytorch_model.bin" not in fetched, "weights that are of no use here"
    # Queries need no network: not one request, also after the hub is gone.
    hub.seen.clear()
    assert recorded_encoder(settings, tmp_path).query("amor") == pytest.approx((1, 0), abs=1e-6)
    assert hub.seen == []


def test_a_revision_can_be_chosen(hub: Hub, tmp_path: Path) -> None:
    assert find_model(f"{NAME}@{COMMIT}", tmp_path).revision == COMMIT
    with pytest.raises(DownloadError, match=f"model {NAME} cannot be fetched"):
        find_model(f"{NAME}@nothing", tmp_path)


def test_what_cannot_be_fetched_is_told_in_one_line(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DownloadError, match=r"model nemo/nihil cannot be fetched: .+") as error:
        find_model("nemo/nihil", tmp_path)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"model schola/parva of the hub .* is not in .*again"):
        find_recorded(NAME, COMMIT, tmp_path)
    (hub.folder / "model.onnx").unlink()
    with pytest.raises(InputError, match=r"of the hub has no ONNX export; export it"):
        find_model(NAME, tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(DownloadError, match=r"model nemo/nihil cannot be fetched: .+") as error:
        find_model("nemo/nihil", tmp_path)
    assert "\n" not in str(error.value)


def test_a_cross_encoder_may_be_of_the_hub(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in hub.folder.rglob("*.*"):
        path.unlink()
    (hub.folder / "1_Pooling").rmdir()
    hub.folder.rmdir()
    little_models.cross_encoder(hub.folder)
    for _ in range(2):
        model = CrossEncoder(NAME, tmp_path)
        assert model.name == f"{NAME} {COMMIT[:19]}"
        assert model.scores("amor", ["caritas", "odium"]).tolist() == [5.0, -7.0]
        # A reranker's model is named in every query, and only the first may need the network.
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")


def test_a_download_that_broke_off_goes_on(hub: Hub, tmp_path: Path) -> None:
    missing = (hub.folder / "tokenizer.json").read_bytes()
    hub.broken.add("tokenizer.json")
    with pytest.raises(DownloadError, match=f"model {NAME} cannot be fetched"):
        find_model(NAME, tmp_path)
    hub.broken.clear()
    files = find_model(NAME, tmp_path)
    assert (files.folder / "tokenizer.json").read_bytes() == missing


def test_an_index_is_built_by_name_and_asked_without_network(
    hub: Hub, run: Run, tmp_path: Path
) -> None:
    table = tmp_path / "hub.tsv"
    table.write_text("id\ttext\na\tamor\nb\todium lux\n")
    done = run("index", str(table), "--encoder", NAME)
    assert done.returncode == 0, done.stderr
    hub.seen.clear()
    common = ["query", "caritas", "--name", "hub", "--first-stage", "dense", "--format", "json"]
    done = run(*common, "--rerank", "none")
    assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == ["a", "b"]
    assert hub.seen == []
    details = json.loads(run("list", "indexes", "--format", "json").stdout)
    assert f"encoder {NAME} {COMMIT[:19]}" in {row["name"]: row["detail"] for row in details}["hub"]
