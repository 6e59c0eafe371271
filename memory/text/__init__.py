"""What is done with words: the text that is embedded, the tokens BM25 sees, and how many tokens a text is."""

from memory.text.counting import clip_tokens, count_lines, count_many, count_tokens
from memory.text.document import document_keywords, document_text, question_keywords

__all__ = [
    "clip_tokens",
    "count_lines",
    "count_many",
    "count_tokens",
    "document_keywords",
    "document_text",
    "question_keywords",
]
