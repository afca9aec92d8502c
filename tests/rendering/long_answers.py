"""Long answers of one kind each, and how they arrive: ten pieces a second, 30 characters each."""

from __future__ import annotations

from collections.abc import Iterator

CHARACTERS = 18_000
PIECE = 30

_SENTENCES = (
    "The depot opens at six on weekdays [1]. ",
    "Drivers **sign in** at the gate and take the `blue` card with them. ",
    "A second card is needed for the hall, see [the plan](/plan) for its doors [2]. ",
    "Nobody leaves before the list is complete, even on a Friday afternoon. ",
    "Spare keys hang behind the desk; *ask* for them before noon [1][2]. ",
)


def _sentences(start: int, count: int) -> str:
    words = (_SENTENCES[(start + step) % len(_SENTENCES)] for step in range(count))
    return "".join(words).strip()


def _fill(lines: Iterator[str], between: str) -> str:
    text = ""
    while len(text) < CHARACTERS:
        text += next(lines) + between
    return text[:CHARACTERS]


def _numbered(make) -> Iterator[str]:
    number = 0
    while True:
        yield make(number)
        number += 1


ANSWERS = {
    "paragraphs": _fill(_numbered(lambda n: _sentences(n, 5)), "\n\n"),
    "long paragraphs": _fill(_numbered(lambda n: _sentences(n, 40)), "\n\n"),
    "one paragraph": _fill(_numbered(lambda n: _sentences(n, 1)), " "),
    "one list": _fill(_numbered(lambda n: f"{n + 1}. " + _sentences(n, 2)), "\n"),
    "loose list": _fill(
        _numbered(lambda n: f"- {_sentences(n, 3)}\n\n  {_sentences(n, 2)}"), "\n\n"
    ),
    "nested list": _fill(
        _numbered(
            lambda n: (
                (f"- {_sentences(n, 1)}\n" if n % 8 == 0 else "")
                + f"  {'  ' if n % 8 > 3 else ''}- {_sentences(n, 2)}"
            )
        ),
        "\n",
    ),
    "one table": "| Door | Text | Hours |\n|---|:--|--:|\n"
    + _fill(_numbered(lambda n: f"| {n} | {_sentences(n, 1)} | {n % 24}:00 |"), "\n"),
    "one code block": "```python\n"
    + _fill(_numbered(lambda n: f"    if doors[{n}] < {n * 7}:  # the gate & its card"), "\n"),
    "one quote": _fill(_numbered(lambda n: "> " + _sentences(n, 4) + "\n>"), "\n"),
    "code in a list": "1. Run this:\n\n   ```sh\n"
    + _fill(_numbered(lambda n: f"   open --door {n} --card blue"), "\n"),
}


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
