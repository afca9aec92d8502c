"""What keeps the vectors apart by length, and what lets them go with their chunks.

The chunks' table has triggers instead of a foreign key: with one, PostgreSQL would refuse to empty
the chunks (Django's ``flush``) unless this table, which Django does not know, is emptied as well.
Left behind, a vector would come to belong to another chunk once ids are counted anew.
"""

from django.db import migrations
from django.db.utils import NotSupportedError

OLD_GRAPHS = """
SELECT indexname FROM pg_indexes
WHERE tablename = 'ai_answers_pgvector' AND starts_with(indexname, 'ai_answers_hnsw_')
"""
VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
DIMENSIONS = """
ALTER TABLE ai_answers_pgvector
ADD COLUMN dimensions integer NOT NULL GENERATED ALWAYS AS (vector_dims(vector)) STORED
"""
FOLLOW = """
CREATE FUNCTION ai_answers_pgvector_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE ai_answers_pgvector;
    ELSE
        DELETE FROM ai_answers_pgvector WHERE chunk_id IN (SELECT id FROM gone);
    END IF;
    RETURN NULL;
END
$$
"""
ON_DELETE = """
CREATE TRIGGER ai_answers_pgvector_on_delete AFTER DELETE ON ai_answers_indexedchunk
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ai_answers_pgvector_follow()
"""
ON_TRUNCATE = """
CREATE TRIGGER ai_answers_pgvector_on_truncate AFTER TRUNCATE ON ai_answers_indexedchunk
FOR EACH STATEMENT EXECUTE FUNCTION ai_answers_pgvector_follow()
"""


def create(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(VERSION)
        version = cursor.fetchone()[0]
        has_chunks = "ai_answers_indexedchunk" in connection.introspection.table_names(cursor)
    if tuple(map(int, version.split(".")[:2])) < (0, 8):
        raise NotSupportedError(
            f"PostgreSQL's extension pgvector must be 0.8 or later, not {version!r}. Install a "
            "newer package, then run as its owner in this database: ALTER EXTENSION vector UPDATE;"
        )
    with connection.cursor() as cursor:
        cursor.execute(OLD_GRAPHS)
        old = [row[0] for row in cursor.fetchall()]
    for name in old:  # over vectors of any length; ai_answers_index builds them anew
        schema_editor.execute(f"DROP INDEX {name}")
    schema_editor.execute(DIMENSIONS)
    if has_chunks:  # a router may keep them elsewhere
        for statement in (FOLLOW, ON_DELETE, ON_TRUNCATE):
            schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION IF EXISTS ai_answers_pgvector_follow() CASCADE")
        schema_editor.execute("ALTER TABLE ai_answers_pgvector DROP COLUMN dimensions")


class Migration(migrations.Migration):
    dependencies = [("ai_answers_pgvector", "0001_vectors")]

    operations = [migrations.RunPython(create, drop)]
