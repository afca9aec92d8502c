"""The full-text table of SQLite: one row a chunk, with the chunk's id.

It holds words as ``retrieval.words`` makes them, so the tokenizer only has to split at blanks.
``retrieval.database`` writes it in the transaction that writes the chunk; no trigger does,
because a later migration that rebuilds the chunk table would drop it without a word.
"""

from django.db import migrations
from django.db.utils import OperationalError

TABLE = (
    "CREATE VIRTUAL TABLE ai_answers_fulltext USING fts5(title, heading, body, tokenize = 'ascii')"
)
TERMS = "CREATE VIRTUAL TABLE ai_answers_fulltext_terms USING fts5vocab(ai_answers_fulltext, 'row')"


def create(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    try:
        schema_editor.execute(TABLE)
        schema_editor.execute(TERMS)
    except OperationalError as error:
        if "fts5" not in str(error):
            raise
        raise OperationalError(
            "This Python's SQLite was built without FTS5, which the full-text search needs."
        ) from error


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TABLE ai_answers_fulltext_terms")
        schema_editor.execute("DROP TABLE ai_answers_fulltext")


class Migration(migrations.Migration):
    dependencies = [("ai_answers", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
