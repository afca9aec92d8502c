"""The website of the library of Brackhaven, an invented harbour city, in English and German.

A site that already existed and then got answers. What it adds for them is in
``settings.AI_ANSWERS``, ``library/ai_answers.py``, ``library/access.py``, the reference cards
below ``library/templates/ai_answers/`` and three template tags; the rest is plain Django.
"""
