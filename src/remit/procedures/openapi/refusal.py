"""What cannot be sent: a whole operation when the catalogue is built, or one value of a call (SPEC 10.6)."""


class OperationRefused(Exception):
    """An operation that cannot be sent exactly; the message is the reason, for authors and operators."""


class ValueRefused(Exception):
    """A value that cannot be sent exactly; `field` names it in the agent's terms, `rule` never repeats it."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field: str = field
        self.rule: str = rule
