"""Vectors searched by PostgreSQL itself: add this app and name its index as the backend.

For sites whose vectors have outgrown the memory of a process, from some 100,000 chunks on. A site
that does not list the app imports and migrates nothing of it. The backend is
``ai_answers.contrib.pgvector.index.PgVectorIndex``.
"""
