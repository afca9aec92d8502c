import io
import zipfile

import docx
import openpyxl
import pptx
import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from fpdf import FPDF
from odfdo import Document as OdfDocument
from odfdo import Header, List, Paragraph, Table

from ai_answers.exceptions import ConfigurationError
from ai_answers.indexing import index_source
from ai_answers.indexing.chunking import chunks_of
from ai_answers.rendering import references
from ai_answers.retrieval import get_index
from ai_answers.sources import (
    DOCUMENTS,
    PublicDirectorySource,
    UnreadableFile,
    documents,
    file_to_markdown,
    register_source,
    unregister,
)
from ai_answers.values import Document, ObjectKey, Source


def saved(document):
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def pdf(*pages, title="", bookmarks=True, header="", password=None):
    """Write a PDF; each page is a list of lines, a heading being one that begins with ``#``."""
    made = FPDF()
    made.set_title(title)
    made.set_font("helvetica", size=12)
    if password is not None:
        made.set_encryption(owner_password="owner", user_password=password)
    for number, lines in enumerate(pages, 1):
        made.add_page()
        for line in [*([f"{header} {number}"] if header else []), *lines]:
            if line.startswith("# ") and bookmarks:
                made.start_section(line[2:])
            made.multi_cell(0, text=line.removeprefix("# "), new_x="LMARGIN", new_y="NEXT")
    return bytes(made.output())


def word():
    made = docx.Document()
    made.core_properties.title = "Depot & yard"
    made.add_heading("Fees", 1)
    made.add_paragraph("A parcel costs four euros.")
    made.add_paragraph("Small", style="List Bullet")
    made.add_paragraph("Large", style="List Bullet")
    made.add_heading("Sizes", 2)
    table = made.add_table(rows=2, cols=2)
    for place, text in enumerate(["Size", "Fee", "S", "4|5"]):
        table.cell(place // 2, place % 2).text = text
    return saved(made)


def slides(*, last_hidden=False):
    made = pptx.Presentation()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Opening hours"
    body = first.placeholders[1].text_frame
    body.text = "Every day"
    nested = body.add_paragraph()
    nested.text, nested.level = "Friday at six", 1
    first.notes_slide.notes_text_frame.text = "Only for me"
    last = made.slides.add_slide(made.slide_layouts[5])
    last.shapes.title.text = "Fees"
    grid = last.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for place, text in enumerate(["Size", "Fee", "S", "4"]):
        grid.cell(place // 2, place % 2).text = text
    if last_hidden:
        last.element.set("show", "0")
    return saved(made)


def workbook():
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "Fees 2026"
    for row in [[], [None, "Size", "Fee"], [None, "S", 4.0], [None, "L|XL", 9.5]]:
        sheet.append(row)
    secret = made.create_sheet("Secret")
    secret.append(["hidden"])
    secret.sheet_state = "hidden"
    return saved(made)


def writer():
    made = OdfDocument("text")
    made.body.clear()
    table = Table("Fees")
    table.set_values([["Size", "Fee"], ["S", 4]])
    for part in (
        Header(1, "Depot"), Paragraph("Use max_rows *now*."), List(["one", "two"]), table,
    ):  # fmt: skip
        made.body.append(part)
    return saved(made)


def read(data, name):
    return file_to_markdown(io.BytesIO(data), name=name)


def test_a_word_file_keeps_headings_lists_and_tables():
    assert read(word(), "fees.docx") == (
        "Depot & yard",
        "# Fees {#}\n\nA parcel costs four euros.\n\n- Small\n- Large\n\n## Sizes {#}\n\n"
        "| Size | Fee |\n| --- | --- |\n| S | 4\\|5 |",
    )


def test_slides_become_sections_without_notes_and_hidden_ones():
    text = read(slides(), "talk.pptx").text
    assert text == (
        "## Opening hours {#}\n\n- Every day\n  - Friday at six\n\n"
        "## Fees {#}\n\n| Size | Fee |\n| --- | --- |\n| S | 4 |"
    )
    assert "Fees" not in read(slides(last_hidden=True), "talk.pptx").text


def test_sheets_become_tables_without_hidden_ones_and_empty_edges():
    assert read(workbook(), "fees.xlsx") == (
        "",
        "## Fees 2026 {#}\n\n| Size | Fee |\n| --- | --- |\n| S | 4 |\n| L\\|XL | 9.5 |",
    )


def test_open_document_text_is_read_with_words_as_they_are():
    page = read(writer(), "depot.odt")
    assert page.title == "Depot"
    assert page.text.startswith("# Depot {#}\n\nUse max_rows *now*.\n\n")
    assert "| S    | 4   |" in page.text


def test_a_pdf_says_where_its_pages_begin_and_takes_headings_from_bookmarks():
    made = pdf(["# Fees", "A parcel costs four euros."], ["Nine for a large one."], title="Prices")
    assert read(made, "prices.pdf") == (
        "Prices",
        "{#page=1}\n\n# Fees {#page=1}\n\nA parcel costs four euros.\n\n"
        "{#page=2}\n\nNine for a large one.",
    )


def test_what_most_pages_of_a_pdf_repeat_is_left_out_and_cut_words_are_joined():
    pages = [[f"Text of number {word}, a won-\nder."] for word in ("one", "two", "six", "ten")]
    text = read(pdf(*pages, header="Yearbook, page"), "book.pdf").text
    assert "Yearbook" not in text
    assert text.count("a wonder.") == 4


def test_lines_of_a_pdf_that_look_like_markdown_are_no_markup():
    text = read(pdf(["# 5 is a number", "```", "end"], bookmarks=False), "x.pdf").text
    chunk = cut(read(pdf(["#1 is first", "```", "end"], bookmarks=False), "x.pdf").text)[0]
    assert "5 is a number" in text
    assert chunk.heading == ""
    assert chunk.text.endswith("end")


def cut(text, *, title="", tokens=60):
    key = ObjectKey("files", "a.pdf")
    document = Document(key=key, language="en", title=title, url="/files/a.pdf", text=text)
    return chunks_of(document, tokens=tokens, overlap=10, anchors_of=lambda all_: [""] * len(all_))


def test_each_chunk_of_a_pdf_leads_to_the_page_that_it_begins_on():
    page = [f"Here is sentence {number} of this page." for number in range(12)]
    chunks = cut(read(pdf(page, page, page), "a.pdf").text)
    anchors = [chunk.anchor for chunk in chunks]
    assert anchors == sorted(anchors)
    assert set(anchors) == {"page=1", "page=2", "page=3"}
    assert all("{#" not in chunk.text for chunk in chunks)


def test_a_reference_links_to_the_page_of_a_pdf():
    key = ObjectKey("files", "a.pdf")
    chunk = cut("{#page=3}\n\nNine euros.")[0]
    source = Source(number=1, key=key, title="a", url="/a.pdf", language="en", chunks=(chunk,))
    assert references._with_anchor("/a.pdf", source, "en") == "/a.pdf#page=3"


def test_nothing_leads_into_an_office_file():
    assert [chunk.anchor for chunk in cut(read(word(), "fees.docx").text, tokens=30)] == ["", ""]


@pytest.mark.parametrize("title", ["Microsoft Word - fees.docx", "fees.pdf", "Untitled 1", " "])
def test_a_title_that_a_program_made_up_is_not_taken(title):
    assert read(pdf(["# Fees", "Four."], title=title), "x.pdf").title == "Fees"


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.pdf", "is empty"),
        (b"%PDF-1.7\nbroken", "a.pdf", "cannot be read as .pdf"),
        (b"PK\x03\x04broken", "a.docx", "is broken"),
        (documents.OLE + b"EncryptedPackage", "a.docx", "password"),
        (documents.OLE + b"nothing", "a.xls", "cannot be read as .xls"),
        (b"GIF89a", "a.gif", r"none of the kinds.*\.pdf"),
        (pdf(["Secret."], password="key"), "a.pdf", "encrypted and needs a password"),
        (pdf([]), "a.pdf", r"holds no text.*OCR"),
        (saved(docx.Document()), "a.docx", "holds no text"),
        (word(), "a.pptx", "cannot be read as .pptx"),
        (word()[:-200], "a.docx", "is broken"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_name_of_the_file(data, name, reason):
    with pytest.raises(UnreadableFile, match=f"{name}.*{reason}"):
        read(data, name)


def test_a_pdf_that_only_forbids_changes_is_read():
    assert "Open." in read(pdf(["Open."], password=""), "a.pdf").text


def test_too_large_files_and_those_that_would_unpack_to_too_much_are_refused():
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        file_to_markdown(io.BytesIO(b"x" * 11), name="a.pdf", max_bytes=10)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(6):
            packed.writestr(f"word/{number}.xml", b"\0" * 100_000_000)
    with pytest.raises(UnreadableFile, match="unpacks to 600000000 bytes"):
        read(bomb.getvalue(), "bomb.docx")


@pytest.mark.parametrize("suffix", [".docx", ".odt"])
def test_entities_that_multiply_are_not_followed(suffix):
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    xml = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{lol}]><x>&l11;</x>'
    made = io.BytesIO()
    good = zipfile.ZipFile(io.BytesIO(word() if suffix == ".docx" else writer()))
    with good, zipfile.ZipFile(made, "w") as packed:
        for name in good.namelist():
            is_body = name in ("word/document.xml", "content.xml")
            packed.writestr(name, xml if is_body else good.read(name))
    with pytest.raises(UnreadableFile):
        read(made.getvalue(), f"a{suffix}")


@pytest.mark.parametrize(
    "file", [ContentFile(word(), name="fees.docx"), SimpleUploadedFile("fees.docx", word())]
)
def test_the_value_of_a_file_field_is_read_by_its_name(file):
    assert file_to_markdown(file).title == "Depot & yard"


def test_markdown_html_and_text_are_read_by_the_same_function(tmp_path):
    (tmp_path / "a.html").write_text("<title>A</title><p>x")
    assert file_to_markdown(tmp_path / "a.html") == ("A", "x")
    assert read(b"# B\n\ny", "b.md") == ("B", "# B\n\ny")
    assert read(b"plain # text", "c.txt") == ("", "plain # text")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "year book.pdf").write_bytes(pdf(["# Herons", "The heron waits."]))
    (tmp_path / "fees_2026.xlsx").write_bytes(workbook())
    (tmp_path / "note.md").write_text("# Note\n\nThe gate.")
    source = PublicDirectorySource(
        path=tmp_path, name="files", base_url="/files/", suffixes=DOCUMENTS | {".md"}
    )
    yield register_source(source)
    unregister("files")


def test_a_folder_serves_documents_under_their_own_names(folder):
    found = folder.get_objects(folder.get_ids())
    assert {path: (d.title, d.url) for path, f in found.items() for d in folder.documents(f)} == {
        "year book.pdf": ("Herons", "/files/year%20book.pdf"),
        "fees_2026.xlsx": ("Fees 2026", "/files/fees_2026.xlsx"),
        "note.md": ("Note", "/files/note/"),
    }


def test_a_changed_document_has_its_new_title(folder, tmp_path):
    path = tmp_path / "year book.pdf"
    file = folder.get_objects(["year book.pdf"])["year book.pdf"]
    assert folder.get_title(file, "en") == "Herons"
    path.write_bytes(pdf(["# Storks and others", "They wait."]))
    assert folder.get_title(file, "en") == "Storks and others"


@pytest.mark.django_db
def test_a_document_that_breaks_is_counted_and_what_was_indexed_of_it_stays(folder, tmp_path):
    """One broken file costs neither the others nor its own last good text."""
    assert index_source(folder).added == 3
    (tmp_path / "year book.pdf").write_bytes(b"%PDF-1.7 broken")
    (tmp_path / "note.md").write_text("# Note\n\nThe new gate.")
    reasons = {}

    report = index_source(folder, on_failure=lambda name, error: reasons.update({name: error}))

    assert (report.failed, report.changed, report.removed) == (1, 1, 0)
    assert "year book.pdf" in str(reasons["year book.pdf"])
    [hit, *_] = get_index().search("heron", tags=frozenset(), limit=1)
    assert hit.chunk.key.entity_id == "year book.pdf"


def test_a_missing_library_is_named_with_the_extra_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(documents.MODULES, ".pdf", "no_such_library")
    source = PublicDirectorySource(path=tmp_path, name="files", suffixes={".pdf"})
    with pytest.raises(ConfigurationError, match=r"'\.pdf'.*django-ai-answers\[documents\]"):
        source.get_ids()
    with pytest.raises(ConfigurationError, match="no_such_library"):
        read(b"%PDF", "a.pdf")
