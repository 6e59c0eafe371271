"""How the opening of a reply shows that it is one: a place, a second person, an exclamation, a guess, an undertaking.

Every pattern reads the first sentence or a bounded part of a text and takes time linear in it.
"""

import re

from memory.llm import speech

_READ_CHARS = 600
#: Longest first sentence that is an answer by beginning with a place or a time, and longest order about "it", in words.
_PLACE_WORDS = 6
_ORDER_WORDS = 9

_EXCLAIMS = re.compile(
    r"^\W*(?:oh|ah|aha|ooh|ugh|hm+|huh|wow|whoa|haha|ha|yikes|yay|nooo*|no way|no need|no,|not (?:yet|at all|really"
    r"|before"
    r"|even|until)|what\?|really\?|seriously\?|brilliant|bravo|decent|clever|marvellous|bliss|(?:what a )?relief"
    r"|happens"
    r"|my (?:fault|mistake|bad)|stupid me|silly me|thank (?:god|goodness|heavens)|good (?:grief|lord|heavens|boy|girl"
    r"|idea"
    r"|choice|thinking|news|question)|bad luck|hard luck|well spotted|nicely done|on second thought|i (?:thought so"
    r"|knew it|wish|see|agree|doubt it|hope so|think so|believe so|didn['\u2019]t know|had no idea|can imagine)"
    r"|thought so"
    r"|as expected|told you|back to normal|same|likewise|rather|instead|because|due to|on it|(?:i['\u2019]m "
    r"|we['\u2019]re )?on (?:my|our) way|(?:i['\u2019]m |we['\u2019]re )?coming|meanwhile|in the meantime|until then"
    r"|now (?:i|we|it|they)|cheers|here['\u2019]s to|a toast|in that case"
    r"|otherwise|unless|if so|if not|depends|maybe|perhaps|probably|possibly|certainly|definitely|absolutely|almost"
    r"|nearly|barely|hardly|exactly|granted|received|got (?:it|them|that)|here (?:it|they) (?:is|are)|there it is"
    r"|i (?:love|adore) (?:you|it|that|this)|i could (?:kiss|hug)|i can['\u2019]t believe|fingers crossed"
    r"|don['\u2019]t (?:worry|beat|be|panic|apologi[sz]e)|works for me|count me in|i['\u2019]m in)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^\W*(?:in|on|at|under|behind|by|from|next to|until|till|after|before|since|for|with|without|to|around|about|near"
    r"|inside|outside|over|between|during|within|beside|opposite|only|just|all|both|none|some|most|two|three|four|five"
    r"|six|seven|eight|nine|ten|twelve|twenty|a (?:little|few|bit|couple)|half)\b",
    re.IGNORECASE,
)
_TO_YOU = re.compile(
    r"^\W*(?:(?:well|then|but|and|so|no|yes|oh)[, ]+)?(?:you(?:r|rs)?\b(?! (?:know what|won['\u2019]t believe|guys"
    r"|all))|you['\u2019](?:re|ve|ll|d)\b|do you (?:mean|think|still need|want (?:me|us|that|it|them))|did you\b"
    r"|were you\b|are you sure|have you (?:tried|checked|asked|looked|considered|told)|why (?:did|do|are|were) you"
    r"|how (?:did|do|would) you|why\b|how (?:come|so|long|much|many)\b|since when|what (?:if|for|about|does it"
    r"|do they|did they)"
    r"|how about|shall i|should i|may i)",
    re.IGNORECASE,
)
_ABOUT_YOU = re.compile(r"\b(?:plans?|weekend|holiday|watch|hear(?:d)? (?:about|of))\b", re.IGNORECASE)
_THEN = re.compile(r"^[^.!?]{1,40}, (?:then|too|either|thanks|thank you|please|though|as well)\s*[.,!?]", re.IGNORECASE)
_THANKS = re.compile(r"\b(?:thanks|thank you|much appreciated|grateful)\b", re.IGNORECASE)
_GUESSES = re.compile(
    r"\b(?:must (?:be|have)|may (?:be|have)|might (?:be|have)|could (?:be|have been)|that['\u2019]ll be|probably|likely"
    r"|my guess|i (?:think|guess|suspect|bet|assume)|looks? like|sounds like|seems|presumably|perhaps|maybe)\b",
    re.IGNORECASE,
)
_TAKES_ON = re.compile(
    r"\b(?:i['\u2019](?:ll|d)|i (?:can|could|will|would|have|had|am)|i['\u2019]m|i['\u2019]ve|let me|we (?:can|could"
    r"|will"
    r"|have)|we['\u2019](?:ll|ve))\b",
    re.IGNORECASE,
)
_IT = re.compile(
    r"\b(?:it|them|that|this|those|these|one)\b(?! (?:time|week|month|year|morning|evening|afternoon|one)\b)",
    re.IGNORECASE,
)
_WITH_IT = re.compile(
    r"^\W*(?:(?:oh|ah|well|yes|no|i think|yeah)[, ]+)?(?:it|that|they|those|these|there|some|one|me|him|her|i|mine"
    r"|\w+ (?:has"
    r"|does|did|took|will|can))\b",
    re.IGNORECASE,
)
_FEELS = re.compile(
    r"\b(?:i['\u2019]m|i am|i feel|i was|i['\u2019]ve been) (?:so |really |very |a bit |quite |pretty |just )?(?:scared"
    r"|afraid|annoyed|angry|upset|sad|worried|anxious|nervous|exhausted|tired|happy|excited|thrilled|glad|proud"
    r"|relieved"
    r"|devastated|furious|lonely|stressed|overwhelmed|disappointed|embarrassed|heartbroken|desperate|frustrated)\b",
    re.IGNORECASE,
)
_COMFORTS = re.compile(
    r"\b(?:poor you|poor thing|i['\u2019]m here|hugs?|don['\u2019]t worry|it['\u2019]ll be|you['\u2019]ve got this"
    r"|sorry"
    r"|understandable|no wonder|take (?:your time|care)|cheer up|hang in|i(?:['\u2019]ll| will| can)|come (?:over"
    r"|and))\b",
    re.IGNORECASE,
)


def exclaims(text: str) -> bool:
    """Say whether a text opens with a word that answers: oh, not yet, no need, my fault, because."""
    return _EXCLAIMS.match(text[:_READ_CHARS]) is not None


def opens_with_place(text: str) -> bool:
    """Say whether a text opens with a place, a time or a number and no more: "In the shed, top drawer."."""
    first = speech.sentences_of(text)[:1]
    return bool(first) and len(first[0].split()) <= _PLACE_WORDS and _PLACE.match(first[0]) is not None


def opens_with_it(text: str) -> bool:
    """Say whether a text opens with a word that may stand for what a question asked for: it, there, I, Mina has."""
    return _WITH_IT.match(text[:_READ_CHARS]) is not None


def turns_to_you(text: str) -> bool:
    """Say whether a text opens with what the other is, has or did: "You could hold it", "Did you check ...?"."""
    first = speech.sentences_of(text)[:1]
    if not first or _ABOUT_YOU.search(first[0]):
        return False
    return _TO_YOU.match(first[0]) is not None


def closes_as_reply(text: str) -> bool:
    """Say whether a short first clause ends as a reply does: "Rabbit, then.", "Twelve is enough, thanks."."""
    first = speech.sentences_of(text)[:1]
    return _THEN.match(text[:_READ_CHARS]) is not None or (bool(first) and _THANKS.search(first[0]) is not None)


def guesses(text: str) -> bool:
    """Say whether a text gives a guess or a diagnosis: must have, probably, sounds like."""
    return _GUESSES.search(text[:_READ_CHARS]) is not None


def takes_on(text: str) -> bool:
    """Say whether a text says what its speaker can or will do."""
    return _TAKES_ON.search(text[:_READ_CHARS]) is not None


def orders_it(text: str) -> bool:
    """Say whether a text orders something about "it": "Put the bucket under it."."""
    return any(
        len(part.split()) <= _ORDER_WORDS and _IT.search(part) is not None and speech.requests(part)
        for part in speech.sentences_of(text)[:2]
    )


def feels(text: str) -> bool:
    """Say whether a text tells a feeling of its speaker: I'm scared, I am so happy."""
    return _FEELS.search(text[:_READ_CHARS]) is not None


def comforts(text: str) -> bool:
    """Say whether a text answers a feeling: poor you, don't worry, I'll come over."""
    return _COMFORTS.search(text[:_READ_CHARS]) is not None
