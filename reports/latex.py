"""Tables for papers, in LaTeX with booktabs."""

from collections.abc import Mapping, Sequence

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
}


def latex_table(rows: Sequence[Mapping[str, str]], caption: str) -> str:
    r"""A table with a line for each row; needs the package booktabs.

    Columns whose cells all begin with a digit are set flush right.

    Args:
        rows: All with the same columns.
        caption: Plain text.

    Example:
        >>> print(latex_table([{"method": "SC_emb", "mrr": "21.95"}], "Models"))
        \begin{table}
        \centering
        \begin{tabular}{lr}
        \toprule
        method & mrr \\
        \midrule
        SC\_emb & 21.95 \\
        \bottomrule
        \end{tabular}
        \caption{Models}
        \end{table}
    """
    names = list(rows[0]) if rows else []
    kinds = "".join("r" if all(row[name][:1].isdigit() for row in rows) else "l" for name in names)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
    lines += [_line(names), r"\midrule"]
    lines += [_line([row[name] for name in names]) for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{escape(caption)}}}", r"\end{table}"]
    return "\n".join(lines)


def escape(text: str) -> str:
    r"""Text in which LaTeX finds nothing to interpret.

    Example:
        >>> print(escape("50 % of p_10"))
        50 \% of p\_10
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
