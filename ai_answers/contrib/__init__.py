"""Optional parts, each with a vendor of its own; nothing else imports them."""
