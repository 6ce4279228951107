"""What is written is valid against TEI All."""

from pathlib import Path

import pytest
from tei_fixtures import document
from tei_schema import CannotValidateError, faults, jing, tei_all

from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.source import read_source
from allusion_es.corpora.tei.write import (
    inline_markup,
    standoff_lines,
    standoff_markup,
    with_insertions,
)

BODY = """<pb n="1"/><div type="sermo" n="1"><head>De <hi rend="italic">gustu</hi> eius</head>
<p>Et <date>hodie</date> dixit <persName>Dauid <roleName>rex</roleName></persName>: <hi>Gustate
et</hi> <foreign xml:lang="la">vide<lb break="no"/>te</foreign> quoniam
<choice><sic>suauus</sic><corr>suauis</corr></choice> <app><lem>est</lem><rdg>sit</rdg></app>
<emph>Do<ex>mi</ex>nus</emph> <choice><am>qm</am><ex>quoniam</ex></choice>
<app><rdgGrp type="orthographic"><lem>bonus</lem><rdg>bonnus</rdg></rdgGrp></app>.
<note>Ps 33,9</note> <supplied>Vnde</supplied> <w>beatus</w><pc>,</pc>
<q>uir <num>unus</num> qui <add>non</add></q> abiit</p>
<lg><l n="1">in consilio <abbr>imp</abbr></l><l n="2">et <unclear>peccatorum</unclear></l></lg>
<cit><quote>non stetit</quote><bibl>Ps 1</bibl></cit>
<ab><s><w>Ait</w><w part="I">gus</w><pc>-</pc><lb/><w part="F">tate</w></s><milestone unit="x"/>et
<foreign xml:lang="grc">logos <q xml:lang="la">in principio</q></foreign> <delSpan spanTo="#d"/>non
<anchor xml:id="d"/>erat<space/>verbum <restore><del>fuit</del></restore></ab>
<list><item>et in cathedra</item><item>pestilentiae</item></list>
<quote>Et erit</quote><cit><quote>tamquam</quote><quote>lignum</quote></cit>
<quote><p>non sedit</p><p>sed in lege</p></quote>
<closer>Vale <salute>frater</salute></closer></div>"""


@pytest.fixture(scope="module")
def validator() -> tuple[Path, Path]:
    try:
        return tei_all(), jing()
    except CannotValidateError as error:
        pytest.skip(str(error))


def test_all_that_is_written_is_valid(validator: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(document(BODY), "utf-8")
    source = read_source(path)
    starts = [
        place
        for place in range(len(source.text))
        if source.text[place].isalpha() and not source.text[place - 1 : place].isalpha()
    ]
    words = len(starts)
    files = [path]
    for length in (1, 2, 3, 7, words):
        spans = [(starts[n], starts[min(n + length, words) - 1]) for n in range(0, words, 2)]
        findings = [
            Finding(
                start, end + 1, source.text[start : end + 1], ("Ps.33.9", "Ps.33.10"), "Ps 33,9-10",
                2.5, 0.5, "quotation" if start % 2 else "allusion", (),
                (Alternative(("1Pet.2.3",), "1 Petr 2,3", 1.0, 0.25),),
            )
            for start, end in spans
        ]  # fmt: skip
        inline = tmp_path / f"inline-{length}.xml"
        inline.write_bytes(b"".join(with_insertions(source, inline_markup(source, findings))))
        beside = tmp_path / f"beside-{length}.xml"
        beside.write_text("\n".join(standoff_lines(source, findings)), "utf-8")
        inside = tmp_path / f"inside-{length}.xml"
        inside.write_bytes(b"".join(with_insertions(source, standoff_markup(source, findings))))
        assert inline.read_text().count('xml:id="allusion-') >= len(findings)
        assert read_source(inline).text == read_source(inside).text == source.text
        files += [inline, beside, inside]
    none = tmp_path / "none.xml"
    none.write_text("\n".join(standoff_lines(source, [])), "utf-8")
    assert faults(*validator, [*files, none]) == ""


def test_the_schema_finds_faults(validator: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(document("<p>d<ex><seg>omi</seg></ex>nus</p>"))
    assert 'element "seg" not allowed' in faults(*validator, [path])
