"""German dates as Django has them, and a short one for lists: 5. Dez."""

SHORT_DATE_FORMAT = "j. M"
