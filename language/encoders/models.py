"""Model files: where the ONNX export and the tokenizer of a model are, and what its files say.

A model is a folder as `optimum-cli export onnx` writes it (`docs/neural.md`), or a name on the hub,
which is fetched into the data folder once. Nothing here loads a model.
"""

import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allusion_es.core.errors import (
    DownloadError,
    InputError,
    SettingsMismatchError,
    UsageError,
)
from allusion_es.core.files import read_text
from allusion_es.language.encoders.settings import Pooling

INSTALL = "install what models need with: pip install 'allusion-es[neural]'"

_ONNX = ("model.onnx", "onnx/model.onnx")
"""Places of the export in a folder, in the order in which they are looked for."""

_HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*/[\w.-]+)(@(?P<revision>[\w./-]+))?")

_FETCHED = ("*.json", "*/config.json", *_ONNX, *(f"{path}_data" for path in _ONNX))
"""Patterns of the files of a model on the hub that are fetched: no weights of other formats."""

_WEIGHTS = ("*.safetensors", "*.txt", "*.model")
"""What sentence-transformers needs besides."""

_NO_LIMIT = 1_000_000
"""Tokenizers write a far larger number where the length is not limited."""

_DEFAULT_TOKENS = 512

_OFFSET_TYPES = ("roberta", "xlm-roberta", "camembert")
"""Kinds of models whose first two positions are not for tokens."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        model: The name to record: the absolute path, or the name on the hub.
        revision: The hub's commit, or a hash of the export and the tokenizer.
        folder: Where the files are.
        onnx: The export; None where there is none, only weights for sentence-transformers.
    """

    model: str
    revision: str
    folder: Path
    onnx: Path | None

    def json(self, name: str) -> dict[str, Any]:
        """The JSON object in the file of that name; empty where there is no such file.

        Raises:
            InputError: It is something else.
        """
        path = self.folder / name
        if not path.is_file():
            return {}
        try:
            found = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not JSON ({error}); export the model again") from error
        if not isinstance(found, dict):
            raise InputError(f"{path}: not a JSON object; export the model again")
        return found

    def pooling(self) -> Pooling | None:
        """The pooling that the model's own files name, or None where they name none.

        Raises:
            InputError: They name one that there is not here.
        """
        config = self.json("1_Pooling/config.json")
        # Until 2026 one key for each kind, since then one key for the kind.
        chosen = [
            key.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
            for key, value in config.items()
            if key.startswith("pooling_mode_") and value is True
        ]
        if isinstance(config.get("pooling_mode"), str):
            chosen = [config["pooling_mode"]]
        if not chosen:
            return None
        match chosen:
            case ["mean" | "cls" | "max" as pooling]:
                return pooling
        raise InputError(
            f"{self.folder}: pooling {'+'.join(chosen)!r} is not known here; choose one with "
            "--pooling, or export the model with its pooling"
        )

    def layers_after_pooling(self) -> list[str]:
        """Names of layers after the pooling, which an export of token vectors lacks."""
        path = self.folder / "modules.json"
        if not path.is_file():
            return []
        try:
            modules = json.loads(read_text(path))
            types = [str(module["type"]).rpartition(".")[2] for module in modules]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}: not a list of modules; export the model again") from error
        return [name for name in types if name not in ("Transformer", "Pooling", "Normalize")]

    def prefix(self, *names: str) -> str:
        """The prefix of queries or passages that the model's files name, or ""."""
        prompts = self.json("config_sentence_transformers.json").get("prompts")
        found = prompts if isinstance(prompts, Mapping) else {}
        return next((str(found[name]) for name in names if found.get(name)), "")

    def max_tokens(self) -> int:
        """The most tokens of a text, special ones included, that the model's files allow."""
        config = self.json("config.json")
        limits = [
            self.json("sentence_bert_config.json").get("max_seq_length"),
            self.json("tokenizer_config.json").get("model_max_length"),
        ]
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int):
            limits.append(positions - 2 * (config.get("model_type") in _OFFSET_TYPES))
        known = [each for each in limits if isinstance(each, int) and 2 < each < _NO_LIMIT]
        return min(known, default=_DEFAULT_TOKENS)


def find_model(model: str, folder: Path) -> ModelFiles:
    """The files of a model that a user names; fetched first where it is one of the hub.

    Args:
        model: See `EncoderChoice.model`.
        folder: The data folder.

    Raises:
        InputError: There is no such model, or it lacks a file.
        DownloadError: It cannot be fetched.
        UsageError: A package is missing.
    """
    path = Path(model).expanduser()
    if model and path.exists():
        return _local(path.resolve(), str(path.resolve()))
    named = _HUB_NAME.fullmatch(model)
    if named is None:
        raise InputError(
            f"there is no folder {model!r}; give one with an ONNX export, or a name on the hub, "
            "OWNER/NAME or OWNER/NAME@REVISION"
        )
    return _from_hub(named["name"], named["revision"] or "main", folder, is_local=False)


def find_recorded(model: str, revision: str, folder: Path) -> ModelFiles:
    """The files of the model that an index was built with, without any network.

    Where its folder is not there, one of the same name in the data folder's `encoders/` is taken.

    Args:
        model: `EncoderSettings.model`.
        revision: `EncoderSettings.revision`.
        folder: The data folder.

    Raises:
        InputError: It is not on this machine.
        SettingsMismatchError: It has changed since.
        UsageError: A package is missing.
    """
    path = Path(model)
    if not path.is_absolute():
        return _from_hub(model, revision, folder, is_local=True)
    other = folder / "encoders" / path.name
    places = [place for place in (path, other) if place.exists()]
    if not places:
        raise InputError(
            f"the index was built with the model in {path}, which is not there; put it back, or "
            f"into {other}"
        )
    found = _local(places[0], model)
    if found.revision != revision:
        raise SettingsMismatchError(
            f"the index was built with another model than the one that is now in {places[0]} "
            f"({revision}, now {found.revision}); put the old one back, or build the index again"
        )
    return found


def missing_package(error: ImportError) -> UsageError:
    """The error where a package that models need is not installed."""
    return UsageError(f"models need {error.name}, which is not here; {INSTALL}")


def has_sentence_transformers() -> bool:
    """Whether sentence-transformers is installed, whose models need no export."""
    return importlib.util.find_spec("sentence_transformers") is not None


def _local(path: Path, model: str) -> ModelFiles:
    """The files in a folder, or those around an `.onnx` file."""
    if path.is_file():
        if path.suffix != ".onnx":
            raise InputError(f"{path}: not an .onnx file; give one, or the folder of an export")
        folder, onnx = path.parent, path
        # Exports of a model lie in a folder `onnx` beside its other files.
        if folder.name == "onnx" and not (folder / "tokenizer.json").exists():
            folder = folder.parent
    else:
        folder = path
        there = [path / name for name in _ONNX if (path / name).is_file()]
        if not there:
            return _without_export(model, path)
        onnx = there[0]
    hashed = [onnx, onnx.with_name(f"{onnx.name}_data"), folder / "tokenizer.json"]
    return ModelFiles(model, _hash(hashed, folder), folder, onnx)


def _without_export(model: str, folder: Path) -> ModelFiles:
    weights = sorted(folder.rglob("*.safetensors"))
    if weights and has_sentence_transformers():
        jsons = sorted(folder.rglob("*.json"))
        return ModelFiles(model, _hash([*weights, *jsons], folder), folder, None)
    raise InputError(
        f"{folder}: there is no model.onnx; export one (docs/neural.md), or install "
        "sentence-transformers, whose models need none"
    )


def _from_hub(name: str, revision: str, folder: Path, *, is_local: bool) -> ModelFiles:
    """The files of a model of the hub, in the hub's own cache layout below the data folder.

    Args:
        name: `OWNER/NAME`.
        revision: A branch, tag or commit.
        folder: The data folder.
        is_local: Take only what was fetched before; else fetch what was not, so that a model
            named in each query asks for no network after the first.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise missing_package(error) from error
    patterns = [*_FETCHED]
    if has_sentence_transformers():
        patterns += _WEIGHTS

    def snapshot_of(*, is_local: bool) -> str:
        return snapshot_download(
            name,
            revision=revision,
            cache_dir=folder / "encoders" / "hub",
            allow_patterns=patterns,
            local_files_only=is_local,
            # Its own default is read when it is imported; this one also when a program sets it.
            endpoint=os.environ.get("HF_ENDPOINT"),
        )

    try:
        try:
            snapshot = snapshot_of(is_local=True)
        except LocalEntryNotFoundError:  # also where an earlier download broke off
            if is_local:
                raise
            snapshot = snapshot_of(is_local=False)
    except LocalEntryNotFoundError as error:
        if is_local:
            raise InputError(
                f"the index was built with model {name} of the hub (revision {revision}), which "
                f"is not in {folder / 'encoders' / 'hub'}; build the index again, or copy it there"
            ) from error
        raise DownloadError(f"model {name} cannot be fetched: {_first_line(error)}") from error
    except Exception as error:  # of the hub, of the network, or of the disk
        raise DownloadError(f"model {name} cannot be fetched: {_first_line(error)}") from error
    path = Path(snapshot)
    # The folder of a snapshot has the name of its commit.
    found = [path / place for place in _ONNX if (path / place).is_file()]
    if not found and not has_sentence_transformers():
        raise InputError(
            f"model {name} of the hub has no ONNX export; export it (docs/neural.md) and give the "
            "folder, or install sentence-transformers, whose models need none"
        )
    return ModelFiles(name, path.name, path, found[0] if found else None)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _hash(paths: Iterable[Path], folder: Path) -> str:
    """A hash of the names and contents of those files that there are.

    Raises:
        InputError: One cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        if not path.is_file():
            continue
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        try:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return f"sha256:{digest.hexdigest()[:16]}"
