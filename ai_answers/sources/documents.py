"""PDF and office files to Markdown, each with the library that knows it.

In: a path or an open file, such as the value of a ``FileField``. Out: ``Page(title, text)`` with
headings and tables; a PDF says where its pages begin, so that references lead to ``#page=3``. The
libraries come with the extra ``documents`` and are imported when such a file is read. Holds no
state; test it with files made by the libraries that write them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any

from ..exceptions import ConfigurationError
from .html import Page, html_to_markdown
from .markdown import first_heading, markdown_page
from .pdf import pdf_to_markdown
from .spreadsheets import grid_to_markdown, workbook_to_markdown

MAX_BYTES = 50_000_000
MAX_UNPACKED = 500_000_000
"""What an office file, a ZIP, may hold: a small one can hold terabytes."""
MAX_CHARS = 20_000_000
MODULES = {
    ".pdf": "pypdf",
    ".docx": "mammoth",
    ".pptx": "pptx",
    ".odt": "odfdo",
    ".xlsx": "python_calamine",
    ".xlsm": "python_calamine",
    ".xlsb": "python_calamine",
    ".xls": "python_calamine",
    ".ods": "python_calamine",
}
DOCUMENTS = frozenset(MODULES)
"""Suffixes that need the extra."""
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Begins the files of old Office versions, and encrypted ones of new versions."""
CORE_TITLE = re.compile(r"<dc:title>([^<]*)</dc:title>")
NO_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel)\b.*|power ?point[- ]presentation|presentation\d*|"
    r"untitled.*|unbenannt.*|document\d*|dokument\d*|"
    r"[^ ]+\.(?:docx?|pptx?|xlsx?|od[tps]|pdf|indd))",
    re.I,
)
"""What programs write where nobody gave a title."""
HEADING = re.compile(r"^(#{1,6} .*?)(?: \{#[^\s{}]*\})?$", re.M)
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!<>~-])")


class UnreadableFile(ValueError):
    """One file that cannot be read, and why. Not an ``AnswersError``: the others can be."""


def file_to_markdown(file: Any, *, name: str = "", max_bytes: int = MAX_BYTES) -> Page:
    """Read ``file``: a path, a Django file, or anything with ``read()`` in binary mode.

    ``name``: tells the kind by its suffix; default: the file's own. Markdown, HTML and text are
    read too. Raises ``UnreadableFile`` when it is encrypted, broken, too large, of another kind,
    or without text, and ``ConfigurationError`` when the extra ``documents`` is missing.
    """
    name = name or str(getattr(file, "name", "") or file)
    suffix = PurePath(name).suffix.lower()
    data = _bytes(file, name, max_bytes)
    if suffix in DOCUMENTS:
        require_reader(suffix)
        page = _read(data, name, suffix)
    elif suffix in (".md", ".markdown", ".html", ".htm", ".txt"):
        text = data.decode("utf-8-sig", errors="replace")
        if suffix == ".txt":
            page = Page("", text)
        else:
            page = html_to_markdown(text) if ".htm" in suffix else Page(*markdown_page(text))
    else:
        known = ", ".join(sorted(DOCUMENTS | {".md", ".html", ".txt"}))
        raise UnreadableFile(f"{name!r} is none of the kinds that can be read: {known}.")
    if len(page.text) > MAX_CHARS:
        raise UnreadableFile(f"{name!r} holds {len(page.text)} characters, over {MAX_CHARS}.")
    return page


def require_reader(suffix: str) -> None:
    """Raise ``ConfigurationError`` unless files with ``suffix`` can be read here."""
    module = MODULES.get(suffix)
    if module and find_spec(module) is None:
        raise ConfigurationError(
            f"Reading {suffix!r} files needs the package {module!r}; "
            "install django-ai-answers[documents]."
        )


def _bytes(file: Any, name: str, max_bytes: int) -> bytes:
    if isinstance(file, str | Path):
        with Path(file).open("rb") as opened:
            data = opened.read(max_bytes + 1)
    elif hasattr(file, "chunks") and hasattr(file, "open"):  # Django's; it may be closed
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    else:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UnreadableFile(f"{name!r} is larger than {max_bytes} bytes.")
    if not data:
        raise UnreadableFile(f"{name!r} is empty.")
    return data


def _read(data: bytes, name: str, suffix: str) -> Page:
    if suffix != ".pdf":
        _check_container(data, name, suffix)
    readers: dict[str, Callable[[bytes], Page]] = {
        ".pdf": pdf_to_markdown, ".docx": _docx, ".pptx": _pptx, ".odt": _odt,
    }  # fmt: skip
    try:
        page = readers.get(suffix, workbook_to_markdown)(data)
    except PermissionError as error:
        raise UnreadableFile(f"{name!r} is encrypted and needs a password.") from error
    except Exception as error:  # each library has errors of its own, and broken files find more
        raise UnreadableFile(
            f"{name!r} cannot be read as {suffix}: {type(error).__name__}: {error}"
        ) from error
    if not page.text.strip():
        raise UnreadableFile(
            f"{name!r} holds no text. If it was scanned, its text has to be recognised first (OCR)."
        )
    title = " ".join(page.title.split())
    title = "" if NO_TITLE.fullmatch(title) else title
    if not title and MODULES[suffix] != "python_calamine":  # whose headings name sheets
        title = first_heading(page.text)
    return Page(title, page.text)


def _check_container(data: bytes, name: str, suffix: str) -> None:
    if data.startswith(OLE):
        if suffix == ".xls":
            return
        raise UnreadableFile(
            f"{name!r} is encrypted and needs a password, or it is of an Office before 2007."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            unpacked = sum(item.file_size for item in packed.infolist())
    except zipfile.BadZipFile as error:
        raise UnreadableFile(f"{name!r} is broken, or no {suffix} file.") from error
    if unpacked > MAX_UNPACKED:
        raise UnreadableFile(f"{name!r} unpacks to {unpacked} bytes, over {MAX_UNPACKED}.")


def _docx(data: bytes) -> Page:
    mammoth = import_module("mammoth")
    result = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map="p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh",
        convert_image=mammoth.images.img_element(lambda _image: {}),
    )
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        names = packed.namelist()
        core = packed.read("docProps/core.xml") if "docProps/core.xml" in names else b""
    found = CORE_TITLE.search(core.decode("utf-8", errors="replace"))
    title = unescape(found[1]) if found else ""
    return Page(title, _without_anchors(html_to_markdown(result.value).text))


def _odt(data: bytes) -> Page:
    document = import_module("odfdo").Document(io.BytesIO(data))
    text = ESCAPED.sub(r"\1", str(document.to_markdown()))
    return Page(document.meta.title or "", _without_anchors(text))


def _pptx(data: bytes) -> Page:
    presentation = import_module("pptx").Presentation(io.BytesIO(data))
    slides = []
    for number, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show") != "0":  # hidden ones are not shown to anyone
            slides.append(_slide(slide, number))
    return Page(presentation.core_properties.title or "", "\n\n".join(slides))


def _slide(slide: Any, number: int) -> str:
    shown = slide.shapes.title
    title = " ".join(shown.text_frame.text.split()) if shown is not None else ""
    texts = []
    for shape in _flat(slide.shapes):
        if shown is not None and shape.shape_id == shown.shape_id:
            continue
        if getattr(shape, "has_table", False):
            rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
            texts.append(grid_to_markdown(rows))
        elif shape.has_text_frame:
            lines = [
                f"{'  ' * line.level}- {' '.join(line.text.split())}"
                for line in shape.text_frame.paragraphs
                if line.text.strip()
            ]
            texts.append("\n".join(lines) if len(lines) > 1 else "".join(lines)[2:])
    return "\n\n".join(filter(None, [f"## {title or number} {{#}}", *texts]))


def _flat(shapes: Iterable[Any]) -> Iterable[Any]:
    """Yield shapes from top to bottom, those in groups as well."""
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _without_anchors(text: str) -> str:
    """Say of each heading that nothing leads to it: no browser jumps into an office file."""
    return HEADING.sub(r"\1 {#}", text)
