"""The German catalogue: complete, sound, compiled, and in step with the code.

The catalogues are read with the standard library, so only the last test asks for gettext's tools.
"""

import ast
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import django
import pytest
import rest_framework
from django.utils import translation

import ai_answers

PACKAGE = Path(ai_answers.__file__).parent
CATALOGUE = "locale/de/LC_MESSAGES/django"
PO = PACKAGE / f"{CATALOGUE}.po"
MO = PACKAGE / f"{CATALOGUE}.mo"
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[a-z%]|\{\w*\}")


@dataclass(slots=True, kw_only=True)
class Message:
    """One entry of a ``.po`` file."""

    flags: set[str] = field(default_factory=set)
    context: str = ""
    singular: str = ""
    plural: str = ""
    texts: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The name of the message in a compiled catalogue."""
        key = f"{self.context}\x04{self.singular}" if self.context else self.singular
        return f"{key}\0{self.plural}" if self.plural else key


def read_po(path: Path) -> list[Message]:
    """Read all messages, the header among them; obsolete ones (``#~``) are comments."""
    return [_read_entry(entry) for entry in path.read_text("utf-8").split("\n\n") if entry.strip()]


def _read_entry(entry: str) -> Message:
    message, keyword = Message(), ""
    for line in entry.splitlines():
        if line.startswith("#,"):
            message.flags |= {flag.strip() for flag in line[2:].split(",")}
        if not line or line.startswith("#"):
            continue
        if not line.startswith('"'):
            keyword, line = line.split(" ", 1)
            if keyword.startswith("msgstr"):
                message.texts.append("")
        text = ast.literal_eval(line)
        match keyword:
            case "msgctxt":
                message.context += text
            case "msgid":
                message.singular += text
            case "msgid_plural":
                message.plural += text
            case _:
                message.texts[-1] += text
    return message


def read_mo(path: Path) -> dict[str, str]:
    """Read a compiled catalogue as it is on disk; plural forms stay joined by NUL."""
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, *tables = struct.unpack(f"{order}3I", data[8:20])

    def column(start: int) -> list[str]:
        found = []
        for position in range(start, start + 8 * count, 8):
            length, offset = struct.unpack(f"{order}2I", data[position : position + 8])
            found.append(data[offset : offset + length].decode())
        return found

    return dict(zip(column(tables[0]), column(tables[1]), strict=True))


@pytest.fixture(scope="module")
def messages():
    """The messages of the German catalogue without its header."""
    return [message for message in read_po(PO) if message.singular]


def test_every_message_is_translated(messages):
    assert len(messages) > 150
    untranslated = [
        m.singular
        for m in messages
        if len(m.texts) != (2 if m.plural else 1) or not all(text.strip() for text in m.texts)
    ]
    assert untranslated == []


def test_no_translation_is_a_guess(messages):
    assert [m.singular for m in messages if "fuzzy" in m.flags] == []
    assert not any("fuzzy" in m.flags for m in read_po(PO))  # the header: gettext then drops it


def test_placeholders_are_those_of_the_original(messages):
    def placeholders(text):
        return Counter(PLACEHOLDER.findall(text))

    def originals(message, place):
        # "One call failed" needs no number, and neither does its translation.
        texts = (message.singular, message.plural) if place == 0 else (message.plural,)
        return [placeholders(text) for text in texts if text]

    different = [
        (m.singular, text)
        for m in messages
        for place, text in enumerate(m.texts)
        if placeholders(text) not in originals(m, place)
    ]
    assert different == []


def test_the_header_names_the_project_and_nobody():
    header = read_po(PO)[0].texts[0]
    assert "Project-Id-Version: django-ai-answers\n" in header
    assert "Language: de\n" in header
    assert "Plural-Forms: nplurals=2; plural=(n != 1);\n" in header
    assert "@" not in header and "Translator" not in header


def test_the_compiled_catalogue_holds_what_the_source_says(messages):
    compiled = read_mo(MO)
    header = compiled.pop("")
    assert "charset=UTF-8" in header and "nplurals=2" in header
    assert compiled == {m.key: "\0".join(m.texts) for m in messages}


def test_words_shared_with_django_are_translated_as_django_does(messages):
    # One catalogue per language and process: an app's word replaces the framework's everywhere.
    django_root, drf_root = Path(django.__file__).parent, Path(rest_framework.__file__).parent
    roots = [django_root / "conf", *(django_root / "contrib").iterdir(), drf_root]
    ours = {m.key: "\0".join(m.texts) for m in messages}
    shared = {}
    for path in (root / f"{CATALOGUE}.mo" for root in roots):
        theirs = read_mo(path) if path.exists() else {}
        shared |= {key: text for key, text in theirs.items() if key in ours}
    assert shared["groups"] == "Gruppen"
    assert {key: ours[key] for key in shared} == shared


def test_a_german_visitor_reads_german():
    """Shows D6: the sentence without an answer is one short sentence, translatable."""
    with translation.override("de"):
        found = translation.gettext("I found nothing about this on our pages.")
        counted = [
            translation.ngettext(
                "Answer complete, %(count)s source", "Answer complete, %(count)s sources", count
            )
            % {"count": count}
            for count in (1, 2)
        ]
    assert found == "Dazu habe ich auf unseren Seiten nichts gefunden."
    assert counted == ["Antwort fertig, 1 Quelle", "Antwort fertig, 2 Quellen"]


@pytest.mark.skipif(
    not (shutil.which("xgettext") and shutil.which("msguniq")),
    reason="gettext's tools (xgettext, msguniq) are not installed",
)
def test_the_catalogue_lacks_no_message_of_the_code(messages, tmp_path):
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.po", "*.mo"))
    (copy / "locale").mkdir(exist_ok=True)
    # Without settings, as one runs it by hand: those of the tests name other projects' paths.
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-m", "django", "makemessages", "-l", "de", "--no-location"]
    ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

    in_code = {m.key for m in read_po(copy / f"{CATALOGUE}.po") if m.singular}
    assert "I found nothing about this on our pages." in in_code
    assert in_code - {m.key for m in messages} == set()
