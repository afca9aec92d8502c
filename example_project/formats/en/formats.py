"""English as it is written on this side of the sea: 5 December 2026."""

DATE_FORMAT = "j F Y"
SHORT_DATE_FORMAT = "j M"
