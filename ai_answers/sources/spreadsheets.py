"""Workbooks to Markdown: a heading and a table for each sheet.

In: the bytes of an Excel or OpenDocument workbook. Out: ``Page("", text)``; empty rows and
columns, hidden sheets and formulas (but not what they come to) are left out. The first row of a
sheet that holds anything is its header. Test ``grid_to_markdown`` with lists.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from .html import Page


def workbook_to_markdown(data: bytes) -> Page:
    calamine = import_module("python_calamine")
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except calamine.PasswordError as error:
        raise PermissionError(str(error)) from error
    texts = []
    for sheet in book.sheets_metadata:
        if sheet.visible != calamine.SheetVisibleEnum.Visible or (
            sheet.typ != calamine.SheetTypeEnum.WorkSheet
        ):
            continue
        rows = book.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True)
        if table := grid_to_markdown(rows):
            texts.append(f"## {' '.join(sheet.name.split())} {{#}}\n\n{table}")
    return Page("", "\n\n".join(texts))


def grid_to_markdown(rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as a table; without empty rows and columns, one column as lines."""
    cells = [[_cell(value) for value in row] for row in rows]
    cells = [row for row in cells if any(row)]
    used = {number for row in cells for number, text in enumerate(row) if text}
    kept = sorted(used)
    if len(kept) < 2:
        return "\n".join(row[kept[0]] for row in cells) if kept else ""
    lines = []
    for row in cells:
        texts = (row[number] if number < len(row) else "" for number in kept)
        lines.append(f"| {' | '.join(texts)} |")
    lines.insert(1, "|" + " --- |" * len(kept))
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return " ".join(str(value).split()).replace("|", "\\|")
