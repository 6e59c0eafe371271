"""Where spellings that may fit each other meet: two forms that fit share a block, so only blocks are read."""

from memory.identity.fits import MAX_INITIALS, MIN_PREFIX, letters
from memory.identity.nicknames import FULL_OF


def blocks_of(form: str, *, parts: bool = True) -> tuple[str, ...]:
    """Give the names of a form's blocks, sorted: one for its letters, and with `parts` those of a name of words."""
    words = form.split(" ")
    found = {f"c:{letters(form)}", pinned_to(form)}
    if len(words) == 1 and "." in form:
        found.add(f"c:{form.partition('.')[0]}")  # an address fits a name that is spelled as its first part
    if parts:
        found |= {f"w:{word}" for word in (words[0], words[-1], *FULL_OF.get(words[0], ()))}
        if len(words[0]) >= MIN_PREFIX:
            found.add(f"p:{words[0][:MIN_PREFIX]}")
        initials = form if len(words) == 1 else "".join(word[0] for word in words)
        if 2 <= len(initials) <= MAX_INITIALS:
            found.add(f"i:{initials}")
    return tuple(sorted(found))


def former_blocks(form: str) -> tuple[str, ...]:
    """Give blocks that hold a form in stores of older versions and are not looked at any more: an erasure empties them.

    All names that begin with one word once shared one, which grew with every numbered name.
    """
    return (f"c:{form.split(' ')[0].partition('.')[0]}",)


def pinned_to(form: str) -> str:
    """Give the block of the forms that an operator or a model bound to this one."""
    return f"m:{form}"
