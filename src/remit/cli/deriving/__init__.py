"""What `remit derive` makes of a page's forms and of a document: declarations for review (SPEC 11.9)."""
