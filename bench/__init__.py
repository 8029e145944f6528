"""What calls cost: `python -m bench core --json FILE`."""
