"""What kind of reuse a finding is, by how much of its words the passage has, and in which form."""

QUOTATION, PARAPHRASE, ALLUSION = "quotation", "paraphrase", "allusion"

_SAME = 0.7
_LIKE = 0.5
_WORDS = 3


def kind_of(words: int, total: float, in_order: float, same_form: float, shared: float) -> str:
    """The kind of a finding.

    A quotation has at least three words of which the passage has 70% in the same form and order,
    by weight (idf), skipped words deducted; a paraphrase at least three of which it has half, in
    any form and order; anything else is an allusion.

    Args:
        words: Words of the finding that the passage has too.
        total: Weight of all words of the finding.
        in_order: Weight of the aligned words, less what was skipped.
        same_form: Weight of the words that the passage has in the same form.
        shared: Weight of the words that the passage has in any form.

    Example:
        >>> kind_of(5, 20.0, 18.0, 18.0, 19.0), kind_of(4, 20.0, 9.0, 6.0, 15.0)
        ('quotation', 'paraphrase')
        >>> kind_of(2, 20.0, 19.0, 19.0, 19.0)
        'allusion'
    """
    if words < _WORDS or total <= 0:
        return ALLUSION
    if min(in_order, same_form) >= _SAME * total:
        return QUOTATION
    return PARAPHRASE if shared >= _LIKE * total else ALLUSION
