"""Span annotations in each format, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allusion_es.annotation.formats.files import SkippedFile, read_spans
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.errors import InputError

TEXT = "Supereminet omni scientiae, dilectio\nilla Christi 3; et \U0001d538 omni."
"""Words 0 to 8 (the number is none): ..., 3 dilectio, 4 illa, 5 Christi, 6 et, 7 A, 8 omni."""


def bare(rows: list[SpanAnnotation]) -> list[SpanAnnotation]:
    return [replace(row, line=0, tokens=0) for row in rows]


def refused(path: Path, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_spans([path])
    assert message in str(caught.value)
    assert str(path.parent) in str(caught.value)


names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
rows = st.lists(
    st.builds(
        lambda name, who, start, length, doubt, kind, rest: SpanAnnotation(
            name,
            who,
            start if length else None,
            start + length if length else None,
            doubt,
            kind,
            0,
            start + length + rest if rest else 0,
        ),
        names,
        names,
        st.integers(0, 50),
        st.integers(0, 9),
        st.booleans(),
        names | st.just(""),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row.instance,
)


@given(rows)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_lines_come_back(tmp_path: Path, rows: list[SpanAnnotation]) -> None:
    path = tmp_path / "spans.jsonl"
    fields = ("instance", "annotator", "start", "end", "doubt", "type", "tokens")
    lines = [json.dumps({name: getattr(row, name) for name in fields}) + "\n" for row in rows]
    path.write_text("".join(lines))
    found = read_spans([path])
    assert found == rows
    assert [row.line for row in found] == list(range(1, len(rows) + 1))


@given(rows)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_come_back(tmp_path: Path, rows: list[SpanAnnotation]) -> None:
    path = tmp_path / "spans.tsv"
    lines = ["tokens\tend\tstart\tannotator\tcomment\tinstance\tdoubt\ttype\n"]
    for row in rows:
        cells = (row.tokens or "", row.end, row.start, row.annotator, "x", row.instance)
        shown = ["" if cell is None else str(cell) for cell in cells]
        lines.append("\t".join([*shown, "yes" if row.doubt else "no", row.type]) + "\n")
    path.write_text("".join(lines))
    assert read_spans([path]) == rows


def brat(folder: Path, annotator: str, name: str, lines: str, text: str = TEXT) -> Path:
    (folder / annotator).mkdir(exist_ok=True)
    (folder / annotator / f"{name}.txt").write_text(text)
    path = folder / annotator / f"{name}.ann"
    path.write_text(lines)
    return path


def test_brat(tmp_path: Path) -> None:
    brat(tmp_path, "berta", "s-1", "T1\tallusion 12 26\tomni scientiae\nA1\tDoubt T1\n")
    brat(
        tmp_path,
        "anna",
        "s-1",
        "T1\tallusion 27 41\tdilectio illa\n#1\tAnnotatorNotes T1\thm\n".replace("27 41", "28 41"),
    )
    brat(tmp_path, "anna", "s-2", "")
    found = read_spans([tmp_path])
    assert bare(found) == [
        SpanAnnotation("s-1", "anna", 3, 5, type="allusion"),
        SpanAnnotation("s-1", "berta", 1, 3, doubt=True, type="allusion"),
    ]
    assert {row.tokens for row in found} == {9}


def test_brat_words_in_part_fragments_and_instances(tmp_path: Path) -> None:
    lines = (
        "T1\tx 15 18\ti s\n"  # the ends of two words
        "T7\tx 28 36;37 41\tdilectio illa\n"  # as brat writes a span over a line break
        "T2\tx 56 62\t\U0001d538 omni\n"  # beyond the first plane of Unicode
        "A1\tInstance T7 s-7\nA2\tinstance T2 s 2\nA3\tOther T1\nR1\tx Arg1:T1 Arg2:T2\n"
    )
    found = bare(read_spans([brat(tmp_path, "anna", "s-1", lines)]))
    assert found == [
        SpanAnnotation("s-1", "anna", 1, 3, type="x"),
        SpanAnnotation("s-7", "anna", 3, 5, type="x"),
        SpanAnnotation("s 2", "anna", 7, 9, type="x"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tx 12 99\tomni", "s.ann:1: field 'span' is 12 99, but s.txt has 63 characters"),
        ("T1\tx 12 12\t", "s.ann:1: field 'span' is 12 12"),
        ("T1\tx 12\tomni", "s.ann:1: field 'span' is 'x 12'"),
        ("T1\tx 12 16\tilla", "s.ann:1: field 'text' is 'illa', but s.txt has 'omni' there"),
        ("T1\tx 26 27\t,", "s.ann:1: field 'span': ',' holds no word"),
        ("T1\tx 12 16;37 41\tomni illa", "s.ann:1: field 'span' is '12 16;37 41', with words"),
        ("T1\tx 12 16\tomni\nT1\tx 12 16\tomni", "s.ann:2: 'T1' is there twice (line 1)"),
        ("T1\tx 12 16\tomni\nA1\tDoubt T2", "s.ann:2: there is no span 'T2'"),
        ("T1\tx 12 16\tomni\nA1\tInstance T1", "s.ann:2: attribute 'Instance' has no value"),
        ("hello", "s.ann:1: 'hello' is no line of a brat file"),
        ("T1\tx 12 16\tomni\nT2\tx 37 41\tilla", "s.ann:2: instance 's' was annotated by"),
        ("T1\tx\x1b 12 16\tomni", "field 'type' is 'x\\x1b'"),
    ],
)
def test_brat_refused(tmp_path: Path, line: str, message: str) -> None:
    refused(brat(tmp_path, "anna", "s", line + "\n"), message)


def test_brat_without_its_text(tmp_path: Path) -> None:
    path = brat(tmp_path, "anna", "s", "T1\tx 0 1\tS\n")
    path.with_suffix(".txt").unlink()
    refused(path, "put the text beside its .ann file")


HEAD = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue
#T_RL=webanno.custom.Link|kind|BT_webanno.custom.Allusion
#T_SP=webanno.custom.Allusion|Doubt|Instance|kind

"""


def webanno(folder: Path, document: str, annotator: str, text: str) -> Path:
    (folder / document).mkdir(exist_ok=True, parents=True)
    path = folder / document / f"{annotator}.tsv"
    path.write_text(text)
    return path


def rows_of(marks: list[tuple[str, str, str]], words: str = "Gustate et , videte quoniam") -> str:
    lines = ["#Text=" + words]
    for number, (word, mark) in enumerate(zip(words.split(), marks, strict=True), 1):
        lines.append("\t".join([f"1-{number}", "0-1", word, "V", "_", "_", "_", *mark, ""]))
    return "\n".join(lines) + "\n"


NONE = ("_", "_", "_")


def test_webanno(tmp_path: Path) -> None:
    spans = [("*[1]", "*[1]", "allusion[1]")]
    webanno(tmp_path, "s-1.txt", "anna", HEAD + rows_of([NONE, *spans * 3, NONE]))
    webanno(tmp_path, "s-1.txt", "berta", HEAD + rows_of([NONE] * 4 + [("true", "*", "echo")]))
    webanno(tmp_path, "s-2.txt", "anna", HEAD + rows_of([NONE] * 5))
    found = read_spans([tmp_path])
    assert bare(found) == [
        SpanAnnotation("s-1", "anna", 1, 3, type="allusion"),  # the comma is no word
        SpanAnnotation("s-1", "berta", 3, 4, doubt=True, type="echo"),
    ]
    assert {row.tokens for row in found} == {4}


def test_webanno_stacked_escaped_and_parts_of_tokens(tmp_path: Path) -> None:
    text = HEAD + rows_of(
        [
            ("*[1]", r"i\_1[1]", r"a\|b[1]"),
            ("*[1]|*[2]", r"i\_1[1]|i2[2]", r"a\|b[1]|*[2]"),
            ("*[2]", "i2[2]", "*[2]"),
            ("*[2]", "i2[2]", "*[2]"),
            NONE,
        ]
    )
    text += "1-5.1\t0-1\tquo\t_\t_\t_\t_\tyes\ti3\t_\t\n"
    found = bare(read_spans([webanno(tmp_path, "s.txt", "anna", text)]))
    assert found == [
        SpanAnnotation("i_1", "anna", 0, 2, type="a|b"),
        SpanAnnotation("i2", "anna", 1, 3),
        SpanAnnotation("i3", "anna", 3, 4, doubt=True),
    ]


def test_webanno_layer_without_features(tmp_path: Path) -> None:
    text = "#FORMAT=WebAnno TSV 3.2\n#T_SP=webanno.custom.Span|\n\n#Text=a b\n"
    text += "1-1\t0-1\ta\t*[1]\t\n1-2\t2-3\tb\t*[1]\t\n"
    path = webanno(tmp_path, "s", "anna", text)
    assert bare(read_spans([path])) == [SpanAnnotation("s", "anna", 0, 2)]


def test_webanno_layers(tmp_path: Path) -> None:
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.A|x\n#T_SP=webanno.custom.B|kind\n"
    path = webanno(tmp_path, "s", "anna", head + "1-1\t0-1\ta\tx\ty\t\n")
    refused(path, "found 'webanno.custom.A', 'webanno.custom.B'; name one with --layer")
    assert read_spans([path], "B")[0].type == "y"
    assert read_spans([path], "webanno.custom.A")[0].type == ""
    with pytest.raises(InputError, match="no span layer 'C'"):
        read_spans([path], "C")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "1-1\t0-1\ta\t_\n", "anna.tsv:6: '1-1\\t0-1\\ta\\t_' is no token with 10 columns"),
        (HEAD + "x\t0-1\ta" + "\t_" * 7, "anna.tsv:6: "),
        (HEAD + rows_of([("*", "*", "*"), NONE, NONE, ("*", "*", "*"), NONE]), "anna.tsv:10: inst"),
        (HEAD + rows_of([NONE, NONE, ("*", "*", "*"), NONE, NONE]), "anna.tsv:9: the span holds"),
        (
            HEAD + rows_of([("*[1]",) * 3, NONE, NONE, NONE, ("*[1]",) * 3]),
            ":7: the span has a gap",
        ),
        ("#FORMAT=WebAnno TSV 3.3\n1-1\t0-1\ta\n", "found none"),
    ],
)
def test_webanno_refused(tmp_path: Path, text: str, message: str) -> None:
    refused(webanno(tmp_path, "s", "anna", text), message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"instance": "i"', "s.jsonl:1: "),
        ('{"instance": "i", "annotator": "a", "start": 1}', "s.jsonl:1: there is no field 'end'"),
        (
            '{"instance": 1, "annotator": "a", "start": 1, "end": 2}',
            "'instance' must be a string, not 1",
        ),
        (
            '{"instance": "i", "annotator": "a", "start": true, "end": 2}',
            "must be a whole number, not True",
        ),
        (
            '{"instance": "i", "annotator": "a", "start": NaN, "end": 2}',
            "must be a whole number, not nan",
        ),
        (
            '{"instance": "i", "annotator": "a", "start": 1.0, "end": 2}',
            "must be a whole number, not 1.0",
        ),
        (
            '{"instance": "i", "annotator": "a", "start": 2, "end": 2}',
            "'start' is 2, field 'end' 2",
        ),
        ('{"instance": "i", "annotator": "a", "start": -1, "end": 2}', "field 'start' is -1"),
        ('{"instance": "i", "annotator": "a", "start": 1, "end": null}', "give both, or neither"),
        ('{"instance": "i", "annotator": "a", "start": 0, "end": 99999999}', "end ≤ 10000000"),
        ('{"instance": "i", "annotator": "a", "start": 0, "end": 9, "tokens": 8}', "end ≤ 8"),
        ('{"instance": "i", "annotator": "a", "start": 0, "end": 1, "doubt": 1}', "true or false"),
        ('{"instance": "", "annotator": "a", "start": 0, "end": 1}', "field 'instance' is ''"),
        (
            '{"instance": "i", "annotator": "a\\u001b[2J", "start": 0, "end": 1}',
            "field 'annotator'",
        ),
        ('{"instance": "\\ud800", "annotator": "a", "start": 0, "end": 1}', "field 'instance'"),
        ('{"a": ' + "[" * 100_000, "s.jsonl:1: "),
        ('{"instance": "i", "annotator": "a", "start": ' + "9" * 5000 + ', "end": 2}', "s.jsonl:1"),
        ("{}\n[]", "s.jsonl:1: there is no field 'instance'"),
    ],
)
def test_json_lines_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(line + "\n")
    refused(path, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.tsv: the file is empty"),
        ("\ufeff\n\n", "s.tsv: the file is empty"),
        ("a\tb\n", "s.tsv:1: there is no column 'instance'; found 'a', 'b'; name each of"),
        ("instance\tannotator\tstart\tend\tend\n", "s.tsv:1: column 'end' is there twice"),
        ("instance\tannotator\tstart\tend\ni\ta\t1\n", "s.tsv:2: 3 cells, but the header has 4"),
        (
            "instance\tannotator\tstart\tend\ni\ta\t+1\t2\n",
            "s.tsv:2: field 'start' must be a whole number, not '+1'",
        ),
        (
            "instance\tannotator\tstart\tend\ni\ta\t1\t٣\n",
            "s.tsv:2: field 'end' must be a whole number, not '٣'",
        ),
        (
            "instance\tannotator\tstart\tend\tdoubt\ni\ta\t1\t2\tmaybe\n",
            "must be true or false, not 'maybe'",
        ),
        ("instance\tannotator\tstart\tend\ni\ta\t1\t2\ni\ta\t1\t3\n", "before ("),
    ],
)
def test_tables_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(text)
    refused(path, message)


def test_the_same_judgement_in_two_files_names_both_lines(tmp_path: Path) -> None:
    one, other = tmp_path / "one.tsv", tmp_path / "other.jsonl"
    one.write_text("instance\tannotator\tstart\tend\nj\ta\t0\t1\ni\ta\t1\t2\n")
    other.write_text('{"instance": "i", "annotator": "a", "start": 1, "end": 2}\n')
    with pytest.raises(InputError) as caught:
        read_spans([one, other])
    assert f"{other}:1: instance 'i'" in str(caught.value)
    assert f"before ({one}:3)" in str(caught.value)


def test_texts_of_different_length(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    head = "instance\tannotator\tstart\tend\ttokens\n"
    path.write_text(head + "i\ta\t0\t1\t9\ni\tb\t0\t1\t\ni\tc\t0\t1\t8\n")
    refused(path, f"has 8 tokens, but 9 at {path}:2")


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    refused(tmp_path / "none.tsv", "cannot be read")
    refused(tmp_path / ".", "no .ann, .tsv, .csv or .jsonl file in this folder")
    path = tmp_path / "s.tsv"
    path.write_bytes(b"instance\tannotator\tstart\tend\n\xff\ta\t0\t1\n")
    refused(path, f"{path}:2: not UTF-8")


ONE = [NONE, ("*[1]", "*[1]", "echo[1]"), NONE, NONE, NONE]


def export(folder: Path) -> None:
    """An export of INCEpTION with two annotators, a curation, and what else comes to lie there."""
    text = HEAD + rows_of(ONE)
    for annotator in ("anna", "berta", "INITIAL_CAS"):
        webanno(folder / "annotation", "s.txt", annotator, text)
    webanno(folder / "curation", "s.txt", "CURATION_USER", text)
    webanno(folder / "curation", "s.txt", "clara", text)
    webanno(folder / "annotation_ser", "s.txt", "anna", text)
    webanno(folder / "__MACOSX" / "annotation", "s.txt", "anna", text)
    (folder / "annotation" / "s.txt" / "._anna.tsv").write_bytes(b"\0\5\x16\7")


def test_an_export_has_the_annotators_only(tmp_path: Path) -> None:
    export(tmp_path)
    left_out: list[SkippedFile] = []
    assert [row.annotator for row in read_spans([tmp_path], skipped=left_out)] == ["anna", "berta"]
    told = {str(Path(each.where).relative_to(tmp_path)): (each.name, each.why) for each in left_out}
    assert told.keys() == {
        "__MACOSX/annotation/s.txt/anna.tsv",
        "annotation/s.txt/._anna.tsv",
        "annotation/s.txt/INITIAL_CAS.tsv",
        "annotation_ser/s.txt/anna.tsv",
        "curation/s.txt/CURATION_USER.tsv",
        "curation/s.txt/clara.tsv",
    }
    assert told["annotation/s.txt/INITIAL_CAS.tsv"] == (
        "INITIAL_CAS",
        "the document before anybody annotated it",
    )


def test_names_that_are_nobodys_are_left_out_of_every_format(tmp_path: Path) -> None:
    table = tmp_path / "spans.tsv"
    table.write_text(
        "instance\tannotator\tstart\tend\nb\tanna\t2\t6\nb\tcuration_user\t2\t6\n"
        "c\tcuration_user\t2\t6\nd\ts_INITIAL_CAS\t2\t6\n"
    )
    left_out: list[SkippedFile] = []
    assert [row.annotator for row in read_spans([table], skipped=left_out)] == ["anna"]
    assert [(each.where, each.name) for each in left_out] == [
        (str(table), "curation_user"),
        (str(table), "s_INITIAL_CAS"),
    ]
    brat(tmp_path, "INITIAL_CAS", "b", "T1\tallusion 0 7\tGustate\n")
    with pytest.raises(InputError, match="there is nothing else; give the annotators' files"):
        read_spans([tmp_path / "INITIAL_CAS"])


def test_a_folder_that_is_named_and_no_export_is_read(tmp_path: Path) -> None:
    """Only beside `annotation` is `curation` the folder of an export."""
    text = HEAD + rows_of(ONE)
    webanno(tmp_path / "curation", "s.txt", "anna", text)
    webanno(tmp_path / ".hidden", "s.txt", "berta", text)
    assert [row.annotator for row in read_spans([tmp_path])] == ["anna"]
    assert [row.annotator for row in read_spans([tmp_path / "curation"])] == ["anna"]
    assert [row.annotator for row in read_spans([tmp_path / ".hidden"])] == ["berta"]
