"""The stop list: words that say nothing of a passage's matter.

Source: our own choice of function words (conjunctions, prepositions, particles, pronouns and
the forms of *esse*) among the 300 most frequent word forms of the Clementine Vulgate. Off by
default: a stop list lowers the retrieval of allusions, since inverse document frequency
already does its work.
"""

_WORDS = """
a ab ac ad adhuc an ante apud at atque aut autem contra coram cum cumque de donec e ego ei eis
eius enim eo eorum eos erant erat ergo erit erunt es esse est estis esto et etiam eum ex fuerit
fuerunt fuisset fuit haec hanc has hi his hoc hos huic huius hunc iam ibi id idcirco ideo igitur
illa illam ille illi illis illius illo illorum illos illud illum in inter ipsa ipse ipsi ipsis
ipsius ipsum is ista iste isti istud ita itaque iuxta me mea meam mei meis meo meum meus mihi
nam ne nec neque nobis non nonne nos noster nostra nostri nunc ob per post postquam pro propter
quae quam quando quapropter quare quasi que quem qui quia quibus quid quidem quis quo quod
quoniam quoque quorum quos se secundum sed si sibi sic sicut sine siue sua suae suam suas sub
sui suis sum sumus sunt suo suos super suum tam tamen te tecum tibi tu tua tuae tuam tui tuis
tunc tuo tuum tuus ubi ue uel uero uester uestra uestri unde uobis uos usque ut utique
"""

STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())
"""Stop words as `fold` spells them."""
