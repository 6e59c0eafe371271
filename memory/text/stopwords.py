"""English words that carry no topic: dropped from documents and questions before BM25."""

_FUNCTION_WORDS = """
    a about above after again against ain all am an and any are aren as at be because been before being below between
    both but by can could couldn couldnt did didn didnt do does doesn doesnt doing don dont down during each etc few for
    from further had hadn has hasn have haven having he her here hers herself him himself his how i if im in into is isn
    it its itself ive just let ll m me mightn more most mustn my myself needn no nor not now o of off on once only or
    other our ours ourselves out over own re s same shan she should shouldn so some such t than that thats the their
    theirs them themselves then there these they this those through to too u under until up upon us ve very was wasn we
    were weren what whatever when whenever where wherever which while who whoever whom whose why will with won would
    wouldn y yet you your yours yourself yourselves
"""

_ASKING_WORDS = """
    according anyone anything describe did does ever exactly explain give happen happened kind kinds list many mention
    mentioned much name please show someone something sort tell type types
"""

#: Function words, with what is left of contractions once the apostrophe is cut ("don't" -> "don").
#: `may` is not among them: it is a month, and dates are written out.
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

#: Words by which a question asks and which a document that answers it has no reason to use.
QUESTION_WORDS = frozenset(_ASKING_WORDS.split())
