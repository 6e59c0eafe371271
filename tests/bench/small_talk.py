"""A small data set in LoCoMo's form, and the same in LongMemEval's: written for the tests, about nobody."""

from typing import Any

_TALKS: dict[str, tuple[tuple[str, str], list[tuple[str, list[str]]]]] = {
    "bt-harbour": (
        ("Ines", "Tom"),
        [
            (
                "1:00 pm on 2 March, 2024",
                [
                    "My sister sold the blue boat yesterday.",
                    "Oh no, who bought it?",
                    "A fisherman from Setubal, for four thousand.",
                    "I started to bake rye bread.",
                    "Since when do you bake?",
                    "Since the oven was repaired in January.",
                ],
            ),
            (
                "9:30 am on 9 May, 2024",
                [
                    "The harbour festival was cancelled.",
                    "Why was that?",
                    "Because the storm broke the pier.",
                    "Then let us go to the mountains.",
                    "Gladly, my violin lessons end on Friday.",
                    "I did not know that you play the violin.",
                ],
            ),
        ],
    ),
    "bt-orchard": (
        ("Mara", "Piet"),
        [
            (
                "6:15 pm on 1 June, 2024",
                [
                    "We picked forty kilos of cherries today.",
                    "What will you do with them?",
                    "Jam, and the rest goes to the school.",
                    "My tractor lost a wheel on the hill.",
                    "Were you hurt?",
                    "No, but the fence is gone.",
                ],
            ),
            (
                "8:00 am on 20 July, 2024",
                [
                    "The new dog is called Biscuit.",
                    "What breed is Biscuit?",
                    "A shepherd from the shelter in Ghent.",
                    "I bought a clarinet at the market.",
                    "Do you still paint as well?",
                    "Only barns these days.",
                ],
            ),
        ],
    ),
    "bt-station": (
        ("Odile", "Ravi"),
        [
            (
                "11:45 am on 3 September, 2024",
                [
                    "The night train to Vienna was late again.",
                    "How long did you wait?",
                    "Three hours, beside the flower stall.",
                    "I passed the exam in hydrology.",
                    "Congratulations, how will you celebrate?",
                    "With dumplings at my aunt's.",
                ],
            ),
            (
                "4:20 pm on 12 October, 2024",
                [
                    "My aunt opened a second restaurant.",
                    "Where is it?",
                    "Next to the old observatory.",
                    "The telescope there is broken.",
                    "They collect money for a mirror.",
                    "I will give something next week.",
                ],
            ),
        ],
    ),
}

#: (conversation, question, category, evidence, answer)
_ASKED = [
    ("bt-harbour", "Who bought the boat?", 4, ["D1:3"], "a fisherman"),
    ("bt-harbour", "Why was the harbour festival cancelled?", 4, ["D2:3", "D2:1"], "a storm broke the pier"),
    ("bt-harbour", "When was the oven repaired?", 2, ["D1:06"], "January 2024"),
    ("bt-harbour", "Which instrument does Tom play?", 1, ["D2:5; D2:6"], "violin"),
    ("bt-harbour", "Which submarine does Ines own?", 5, ["D1:1"], None),
    ("bt-harbour", "What is nowhere?", 3, [], "nothing"),
    ("bt-orchard", "How much fruit did Mara pick?", 4, ["D1:1"], "forty kilos"),
    ("bt-orchard", "What happened to the tractor?", 4, ["D1:4", "D1:6"], "it lost a wheel"),
    ("bt-orchard", "Where does the dog come from?", 4, ["D2:3"], "the shelter in Ghent"),
    ("bt-station", "Where did Odile wait for the train?", 4, ["D1:3"], "beside the flower stall"),
    ("bt-station", "What did Ravi's exam deal with?", 4, ["D1:4"], "hydrology"),
    ("bt-station", "Where is the second restaurant?", 4, ["D2:3"], "next to the old observatory"),
]


#: Turns of a third session: talk that answers nothing.
_IDLE = [
    f"{opening} {thing}."
    for thing in (
        "the weather on the coast",
        "the price of paint",
        "old radio plays",
        "bicycle lamps",
        "gravel roads",
        "blue ink",
        "door handles",
        "wet socks",
        "long queues",
        "cold soup",
        "loud clocks",
        "thin coats",
        "salt",
        "old maps",
        "rain gauges",
        "wool",
        "stairs",
        "glue",
        "mud",
        "chalk",
    )
    for opening in ("I have nothing new about", "They still argue about", "Nobody writes books about")
]


def locomo() -> list[dict[str, Any]]:
    """Give three conversations of 72 turns with 12 questions, one of them without evidence."""
    samples = []
    for name, (speakers, sessions) in _TALKS.items():
        talk: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
        for number, (when, texts) in enumerate([*sessions, ("7:00 pm on 1 December, 2024", _IDLE)], start=1):
            talk[f"session_{number}_date_time"] = when
            talk[f"session_{number}"] = [
                {"dia_id": f"D{number}:{place}", "speaker": speakers[(place + 1) % 2], "text": text}
                for place, text in enumerate(texts, start=1)
            ]
        asked = [
            {"question": question, "category": category, "evidence": evidence}
            | ({"answer": answer} if answer else {"adversarial_answer": "the Nautilus"})
            for whose, question, category, evidence, answer in _ASKED
            if whose == name
        ]
        samples.append({"sample_id": name, "conversation": talk, "qa": asked, "event_summary": {"x": "SECRET"}})
    return samples


def longmemeval() -> list[dict[str, Any]]:
    """Give two questions over haystacks of two sessions, and one that has no answer."""
    texts = ("I adopted a greyhound named Comet.", "Lovely, greyhounds sleep a lot.")
    other = ("How do I prune a fig tree?", "In late winter, above an outward bud.")
    items = []
    for place, (ident, has) in enumerate((("bt-q1", True), ("bt-q2", True), ("bt-q3_abs", False))):
        sessions = [
            [_said("user", texts[0], has_answer=has), _said("assistant", texts[1])],
            [_said("user", other[0]), _said("assistant", other[1])],
        ]
        items.append(
            {
                "question_id": ident,
                "question_type": "single-session-user",
                "question": "What is my greyhound called?" if place != 1 else "Which pet did I adopt?",
                "question_date": "2023/05/30 (Tue) 23:40",
                "answer": "Comet",
                "haystack_sessions": sessions,
                "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/24 (Wed) 10:00"],
                "haystack_session_ids": ["answer_1", "noise_1"],
                "answer_session_ids": ["answer_1"],
            }
        )
    return items


def _said(role: str, content: str, *, has_answer: bool = False) -> dict[str, Any]:
    return {"role": role, "content": content} | ({"has_answer": True} if has_answer else {})
