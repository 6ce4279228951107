"""The settings of a sentence encoder: what a user chooses, and what an index remembers."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from msgspec import Meta

from allusion_es.core.errors import UsageError
from allusion_es.core.records import checked

Pooling = Literal["mean", "cls", "max", "none"]
"""How the vectors of tokens become one vector; `none` where the model itself gives one."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

Store = Literal["int8", "float16"]
"""How an index keeps the numbers of its passages' vectors."""

STORES: tuple[Store, ...] = get_args(Store)

MOST_DIMENSIONS = 4096
"""The most that Elasticsearch takes, so that an index in process can be built there too."""

_Text = Annotated[str, Meta(max_length=1_000)]
"""A name or prefix; longer ones are only in damaged settings."""


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """A user's choice of an encoder; None stands for what the model's own files say.

    Attributes:
        model: A folder with an ONNX export, an `.onnx` file in one, or a name on the hub, such as
            `owner/name` or `owner/name@revision`.
        pooling: One of `POOLINGS`.
        query_prefix: Put before each query, such as `query: `.
        passage_prefix: Put before each passage.
        store: One of `STORES`.
    """

    model: str
    pooling: str | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    store: str = "int8"

    def __post_init__(self) -> None:
        """Refuse a choice that there is not.

        Raises:
            UsageError: `pooling` or `store` is unknown.
        """
        for name, value, choices in (
            ("pooling", self.pooling, POOLINGS),
            ("encoder-store", self.store, STORES),
        ):
            if value is not None and value not in choices:
                raise UsageError(f"--{name} must be one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The encoder of an index: queries must be encoded by the same one.

    Attributes:
        model: The absolute path of a folder or `.onnx` file, or a name on the hub.
        revision: The hub's commit, or a hash of the model's files.
        dimension: Length of its vectors.
        pooling: How the vectors of tokens become one.
        query_prefix: Put before each query.
        passage_prefix: Put before each passage.
        max_tokens: Longer texts are cut.
        store: How the index keeps the vectors.
    """

    model: _Text
    revision: _Text
    dimension: Annotated[int, Meta(gt=0, le=MOST_DIMENSIONS)]
    pooling: Pooling
    query_prefix: _Text
    passage_prefix: _Text
    max_tokens: Annotated[int, Meta(gt=0, le=1 << 20)]
    store: Store = "int8"

    @property
    def name(self) -> str:
        """The model and its revision, for people.

        Example:
            >>> EncoderSettings("/m/laberta", "sha256:0c1f", 768, "mean", "", "", 512).name
            'laberta sha256:0c1f'
        """
        path = Path(self.model)
        return f"{path.name if path.is_absolute() else self.model} {self.revision[:19]}"

    def to_json(self) -> dict[str, object]:
        """As plain values, for `from_json`."""
        return asdict(self)

    @staticmethod
    def from_json(data: object) -> "EncoderSettings":
        """The settings that `to_json` wrote.

        Raises:
            ValueError: `data` is not what `to_json` writes.
        """
        return checked(data, EncoderSettings, error=ValueError)
