"""Words ranked by an OpenSearch that a site runs anyway, in place of the database's full text.

Name ``ai_answers.contrib.opensearch.OpenSearchWords`` as ``words`` in the ``OPTIONS`` of an index;
no app to install. Needs ``pip install django-ai-answers[opensearch]``.
"""

from .words import OpenSearchWords

__all__ = ["OpenSearchWords"]
