r"""Tables for papers, in LaTeX with booktabs.

Widths are estimated from the letters of the cells, so that a table gets the largest type in which
it fits the text of a page. The estimate is that of Computer Modern in an article of one column,
whose `\textwidth` is the narrowest in use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from allusion_es.evaluation.scoring import MACRO

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}

_TEXT_WIDTH = 345.0
r"""`\textwidth` of an article in 10 pt, in points."""

_SIZES = (("", 1.0, 6.0), (r"\small", 0.92, 5.0), (r"\footnotesize", 0.83, 4.0))
"""Sizes of type: the command, the scale of widths, and half the space between columns in points."""

_HEADS = {
    "mrr": "MRR",
    "map": "MAP",
    "rprec": "R-Prec",
    "p_holm": "p (Holm)",
    "group": "Type",
    "count": "n",
    "queries": "n",
    "jaccard_token": "Jaccard (token)",
    "jaccard_lemma": "Jaccard (lemma)",
    "source_length": "Query length",
    "ref_length": "Passage length",
}
"""Heads of columns as papers have them; `head` makes those of measures with a cutoff."""

_CUTOFF_HEADS = {"success": "S", "precision": "Prec", "recall": "R", "ndcg": "nDCG"}

PAPER_COLUMNS = {"mrr": "paper_mrr", "p10": "paper_p10", "p20": "paper_p20"}
"""The column that has the paper's own figure for a measure."""

SIGNIFICANT = 0.05
"""Below this an adjusted p is marked."""


def head(name: str) -> str:
    """The head of a column, as in the paper.

    Example:
        >>> head("mrr"), head("p10"), head("ndcg@5"), head("p_holm"), head("links")
        ('MRR', 'P@10', 'nDCG@5', 'p (Holm)', 'links')
    """
    if name in _HEADS:
        return _HEADS[name]
    if name[:1] == "p" and name[1:].isdecimal():
        return f"P@{name[1:]}"
    measure, at, cutoff = name.partition("@")
    return f"{_CUTOFF_HEADS.get(measure, measure)}{at}{cutoff}"


def escape(text: str) -> str:
    r"""Text in which LaTeX finds nothing to interpret.

    Example:
        >>> print(escape("50 % of p_10"))
        50 \% of p\_10
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its plain text, and how LaTeX sets it.

    Attributes:
        text: Plain text, which tells how wide it is.
        bold: Whether it is set in bold.
        mark: LaTeX behind it that takes no room, such as a raised sign.
    """

    text: str
    bold: bool = False
    mark: str = ""

    def latex(self) -> str:
        """The cell in LaTeX; of a name such as `SC_emb` the second part is lowered."""
        name, _, index = self.text.partition("_")
        if index and name.isalpha() and index.isalpha():
            shown = rf"{name}\textsubscript{{{index}}}"
        else:
            shown = escape(self.text)
        return (rf"\textbf{{{shown}}}" if self.bold else shown) + self.mark

    def width(self) -> float:
        """About how wide it is in type of 10 pt, in points."""
        return sum(map(_letter_width, self.text)) * (1.16 if self.bold else 1.0)


def _letter_width(letter: str) -> float:
    if letter in ".,:;()[]' il|!-":
        return 3.9 if letter in "()-" else 3.4
    return 7.6 if letter.isupper() or letter in "mw@+%–<>±" else 5.1


Line = Sequence[Cell] | str
"""A line of a table: its cells, or a heading over all columns."""


def latex_table(
    rows: Sequence[Mapping[str, str]], caption: str, label: str = "tab:allusion-es"
) -> str:
    r"""A table with a line for each row; needs the package booktabs.

    Columns whose cells all begin with a digit are set flush right.

    Args:
        rows: All with the same columns, whose heads `head` makes of their names.
        caption: Plain text.
        label: The key for `\ref`.

    Example:
        >>> print(latex_table([{"method": "SC_emb", "mrr": "21.95"}], "Models", "tab:models"))
        \begin{table}
        \centering
        \begin{tabular}{lr}
        \toprule
        method & MRR \\
        \midrule
        SC\textsubscript{emb} & 21.95 \\
        \bottomrule
        \end{tabular}
        \caption{Models}
        \label{tab:models}
        \end{table}
    """
    names = list(rows[0]) if rows else []
    kinds = "".join("r" if all(row[name][:1].isdigit() for row in rows) else "l" for name in names)
    heads = [Cell(head(name)) for name in names]
    lines: list[Line] = [[Cell(row[name]) for name in names] for row in rows]
    return _table(kinds, [_line(heads)], heads, lines, caption, label)


def methods_table(
    rows: Sequence[Mapping[str, Any]],
    measures: Sequence[str],
    caption: str,
    label: str = "tab:methods",
    compared: str = "",
) -> str:
    r"""A table of methods for a paper: a line a method, tokens and lemmas side by side.

    The best figure of each column is bold. Each group of links has a heading, where there are
    several. The first measure has its interval, where that fits. Where the rows have the paper's
    own figures, these stand in a line of their own. Where methods were compared, those that are
    significantly below the best have a dagger, and a column has the adjusted p. It needs the
    package booktabs; where it cannot fit a page otherwise, graphicx too.

    Args:
        rows: From `evaluation.scoring.score_rows`, with the columns of `with_best` and the paper's
            figures if they are to be shown.
        measures: Names of the measures.
        caption: Plain text; what the signs mean is added.
        label: The key for `\ref`.
        compared: The measure by which methods were compared, or "".

    Example:
        >>> row = {"group": "all", "queries": 2, "mrr": 50.0}
        >>> rows = [{"method": "bow", "input": "lemma", **row},
        ...         {"method": "tfidf", "input": "lemma", **row, "mrr": 75.0}]
        >>> print(methods_table(rows, ["mrr"], "Methods"))
        \begin{table}
        \centering
        \begin{tabular}{lr}
        \toprule
         & \multicolumn{1}{c}{lemmas} \\
        \cmidrule(lr){2-2}
         & MRR \\
        \midrule
        bow & 50.00 \\
        tfidf & \textbf{75.00} \\
        \bottomrule
        \end{tabular}
        \caption{Methods. 2 queries. The best figures are bold.}
        \label{tab:methods}
        \end{table}
    """
    inputs = list(dict.fromkeys(row["input"] for row in rows))
    has_interval = rows[0].get(f"{measures[0]}_low") is not None
    said = _signs(rows, measures, caption, compared)
    layouts = product(
        (True, False) if len(inputs) > 1 else (True,), (True, False) if has_interval else (False,)
    )
    table = ""
    for beside, intervals in layouts:
        blocks = [inputs] if beside else [[each] for each in inputs]
        columns = [*measures, *(["p_holm"] if compared else [])]
        lines: list[Line] = []
        for block in blocks:
            if not beside and block[0]:
                lines.append(f"{block[0]}s")
            lines += _method_lines(rows, block, columns, measures, intervals, compared)
        width = len(inputs) if beside else 1
        heads = [Cell(""), *[Cell(head(name)) for name in columns] * width]
        top = [_line(heads)]
        if beside and any(inputs):
            top = [*_input_heads(inputs, len(columns)), *top]
        caveat = f"{said} In brackets: 95 % intervals." if intervals else said
        kinds = "l" + "r" * (len(heads) - 1)
        table = _table(kinds, top, heads, lines, caveat, label)
        if r"\resizebox" not in table:
            break
    return table


def _method_lines(
    rows: Sequence[Mapping[str, Any]],
    inputs: Sequence[str],
    columns: Sequence[str],
    measures: Sequence[str],
    intervals: bool,
    compared: str,
) -> list[Line]:
    """The lines of a table of methods, whose columns are `columns` for each of `inputs`."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    lines: list[Line] = []
    for group in groups:
        some = {
            (_method_name(row), row["input"]): row
            for row in rows
            if row["group"] == group and row["input"] in inputs
        }
        names = list(dict.fromkeys(name for name, _ in some))
        best: dict[tuple[str, str], float] = {}
        for each, measure in product(inputs, measures):
            values = {round(row[measure], 2) for (_, used), row in some.items() if used == each}
            if len(values) > 1:  # where all are equal, none is the best
                best[each, measure] = max(values)
        if len(groups) > 1:
            title = "each work counting alike" if group == MACRO else group
            lines.append(f"{title} (n = {next(iter(some.values()))['queries']})")
        for name in names:
            own = [some.get((name, each)) for each in inputs]
            cells = [Cell(name)]
            for each, row in zip(inputs, own, strict=True):
                for column in columns:
                    if row is None:
                        cells.append(Cell("–"))
                        continue
                    is_best = row.get(column) is not None and (
                        round(row[column], 2) == best.get((each, column))
                    )
                    cells.append(_figure(row, column, intervals, measures, compared, is_best))
            lines.append(cells)
            printed = [
                row.get(PAPER_COLUMNS.get(column, "")) if row else None
                for row in own
                for column in columns
            ]
            # The paper has allusions only; beside other groups its figures would mislead.
            suited = group == ("allusion" if "allusion" in groups else "all")
            if suited and any(value is not None for value in printed):
                shown = ["" if value is None else f"{value:.2f}" for value in printed]
                lines.append([Cell("  in the paper"), *map(Cell, shown)])
    return lines


def _figure(
    row: Mapping[str, Any],
    column: str,
    intervals: bool,
    measures: Sequence[str],
    compared: str,
    is_best: bool,
) -> Cell:
    value = row.get(column)
    if value is None:
        return Cell("")
    if column == "p_holm":
        return Cell("<0.001" if value < 0.001 else f"{value:.3f}")
    text = f"{value:.2f}"
    if intervals and column == measures[0] and row[f"{column}_low"] is not None:
        text += f" [{row[f'{column}_low']:.1f}, {row[f'{column}_high']:.1f}]"
    p = row.get("p_holm")
    mark = r"\rlap{$^\dagger$}" if column == compared and _is_significant(p) else ""
    return Cell(text, is_best, mark)


def _is_significant(p: float | None) -> bool:
    return p is not None and p < SIGNIFICANT


def _method_name(row: Mapping[str, Any]) -> str:
    """The name of a row's method as the paper has it.

    Example:
        >>> _method_name({"method": "wmd", "model": "WMD"}), _method_name({"window": "10"})
        ('WMD', 'Win-10')
    """
    if "window" in row:
        window = str(row["window"])
        return f"Win-{window}" if window.isdecimal() else window.capitalize()
    return str(row.get("model") or row["method"])


def _signs(
    rows: Sequence[Mapping[str, Any]], measures: Sequence[str], caption: str, compared: str
) -> str:
    """The caption, and after it how many queries there are and what the signs mean."""
    sentences = [caption.rstrip(".")]
    if len({row["group"] for row in rows}) == 1:
        sentences.append(f"{rows[0]['queries']} queries")
    if len({_method_name(row) for row in rows}) > 1:
        sentences.append("The best figures are bold")
    if compared:
        every = [row for row in rows if row["group"] == "all"]
        best = max(every, key=lambda row: float(row[compared]))
        sentences.append(
            f"†: {head(compared)} below that of {_method_name(best)} on {best['input']}s "
            f"(p < {SIGNIFICANT}, paired randomisation test, adjusted after Holm)"
        )
    unanswered = sum(row.get("unanswered") or 0 for row in rows if row["group"] == "all")
    if unanswered:
        sentences.append(f"{unanswered} answers are missing and count as not found")
    return ". ".join(sentences) + "."


def _input_heads(inputs: Sequence[str], columns: int) -> list[str]:
    """The line of the inputs, each over its columns, and the rules below them."""
    cells = [rf"\multicolumn{{{columns}}}{{c}}{{{escape(each)}s}}" for each in inputs]
    starts = range(2, 2 + columns * len(inputs), columns)
    rules = "".join(rf"\cmidrule(lr){{{start}-{start + columns - 1}}}" for start in starts)
    return [" & " + " & ".join(cells) + r" \\", rules]


def _table(
    kinds: str,
    top: Sequence[str],
    heads: Sequence[Cell],
    lines: Sequence[Line],
    caption: str,
    label: str,
) -> str:
    """A table in the largest type in which it fits; where it fits in none, scaled down."""
    cells = [heads, *(line for line in lines if not isinstance(line, str))]
    width = sum(max(cell.width() for cell in column) for column in zip(*cells, strict=True))
    body = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *top, r"\midrule"]
    for number, line in enumerate(lines):
        if isinstance(line, str):
            body += [r"\addlinespace"] if number else []
            body.append(rf"\multicolumn{{{len(kinds)}}}{{l}}{{\textit{{{escape(line)}}}}} \\")
        else:
            body.append(_line(line))
    body += [r"\bottomrule", r"\end{tabular}"]
    settings: list[str] = []
    for size, scale, space in _SIZES:
        if width * scale + 2 * space * len(kinds) <= _TEXT_WIDTH:
            settings = [size, rf"\setlength{{\tabcolsep}}{{{space:g}pt}}"] if size else []
            break
    else:
        body = [r"\resizebox{\textwidth}{!}{% needs the package graphicx", *body, "}"]
    said = escape(caption).replace("†", r"$^\dagger$")
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *settings,
            *body,
            rf"\caption{{{said}}}",
            rf"\label{{{label}}}",
            r"\end{table}",
        ]
    )


def _line(cells: Sequence[Cell]) -> str:
    return " & ".join(_indented(cell) for cell in cells) + r" \\"


def _indented(cell: Cell) -> str:
    """The cell in LaTeX; blanks before it are a step to the right."""
    return rf"\quad {cell.latex().lstrip()}" if cell.text.startswith("  ") else cell.latex()
