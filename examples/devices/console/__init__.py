"""The console: what one signed-in person has open, the parts of it that agents may work, and the pages that show it."""
