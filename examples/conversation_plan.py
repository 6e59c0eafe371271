"""Questions about the conversation, with labels of the source."""

from incident_plan import Question

#: (who, what, older message, newer message)
SUPERSESSIONS = (
    ("Mateo", "place to live", "leaving-idea", "staying"),
    ("Ilse", "diet", "vegetarian", "eats-fish"),
)

QUESTIONS = (
    Question("WHEN", "When did Mateo twist his ankle?", ("ankle",), "'last Sunday', said on Sunday 14 September 2025"),
    Question("WHEN", "When was Yusuf hired?", ("apprentice",), "'yesterday': 13 September 2025"),
    Question("WHEN", "When did Mateo apply in Lisbon?", ("lisbon-applied",), "'two weeks ago': around 31 August 2025"),
    Question(
        "WHEN", "When was the hip of Mateo's mother operated on?", ("mother-home", "hip-operation"), "9 December 2025"
    ),
    Question("WHEN", "When did Yusuf win the contest?", ("contest",), "'on Friday': 31 October 2025"),
    Question(
        "WHEN", "When did Ilse's orchestra give its concert?", ("concert-date", "concert-mother"), "21 March 2026"
    ),
    Question("WHEN", "When does the planetarium open again?", ("reopening", "two-hundred"), "1 April 2026"),
    Question(
        "ENTITY",
        "Which instruments does Ilse play?",
        ("violin", "clarinet"),
        "two mentions, four months apart, without a word in common",
    ),
    Question("ENTITY", "Who is Lotte?", ("lotte-cello", "new-year-guests", "lotte-number", "eel-place"), "a cousin"),
    Question(
        "ENTITY",
        "What do we know about Yusuf?",
        ("apprentice", "contest", "yusuf-signed", "second-shop"),
        "one name over eight months",
    ),
    Question("WHY", "Why did Mateo stay in Ghent?", ("staying", "projector", "mother"), "a reason asked and given"),
    Question("WHY", "Why did the projector hum?", ("bearing", "bearing-arrived"), "a bearing from 1974"),
    Question("WHY", "Why did the clarinet shriek?", ("clarinet",), "the reed split"),
    Question("ENTITY", "Does Ilse eat fish?", ("eats-fish", "mackerel", "vegetarian"), "she changed her mind"),
    Question("ENTITY", "Where does Mateo want to live?", ("staying", "leaving-idea"), "he changed his mind"),
    Question(
        "GENERAL",
        "How did the running get better after the ankle injury?",
        ("ankle", "first-run", "ten-km", "half-marathon", "fifteen-km"),
        "facts gathered over seven months",
    ),
    Question("GENERAL", "Which picture was taken in the dome?", ("cat",), "a caption answers"),
    Question(
        "GENERAL",
        "What was the present for the kitchen?",
        ("scale", "parcel"),
        "given in one session, named in the next",
    ),
)
