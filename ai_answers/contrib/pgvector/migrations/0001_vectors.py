"""The extension and the table of vectors; on another database than PostgreSQL, nothing.

The vectors have no fixed length: embeddings differ. ``index.py`` makes an index for each one.
No foreign key to the chunks, for the reason in ``ai_answers.0004``.
"""

from django.db import migrations
from django.db.utils import DatabaseError

EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector"
TABLE = """
CREATE TABLE ai_answers_pgvector (
    chunk_id bigint NOT NULL,
    "index" varchar(100) NOT NULL,
    embedding varchar(64) NOT NULL,
    tags text[],
    vector halfvec NOT NULL,
    PRIMARY KEY (chunk_id, embedding)
)
"""
OF_AN_INDEX = """
CREATE INDEX ai_answers_pgvector_of ON ai_answers_pgvector ("index", embedding, chunk_id)
"""


def create(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        schema_editor.execute(EXTENSION)
    except DatabaseError as error:
        raise DatabaseError(
            "PostgreSQL's extension pgvector (0.8 or later) is missing or may not be created by "
            "this user. Install its package, then run as a superuser in this database: "
            f"{EXTENSION};"
        ) from error
    schema_editor.execute(TABLE)
    schema_editor.execute(OF_AN_INDEX)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TABLE ai_answers_pgvector")


class Migration(migrations.Migration):
    dependencies = [("ai_answers", "0004_postgresql_words")]

    operations = [migrations.RunPython(create, drop)]
