"""Ids as a page's agents write them: `capability ["@" kind] ["#" instance]` (SPEC 11.5)."""

import re
from dataclasses import dataclass

from remit._model.ids import parse_capability_id

_KIND = re.compile(r"[a-z][a-z0-9-]*")
# A reference's instance is written `type/instance` (SPEC 10.10).
_INSTANCE = re.compile(r"(?:[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*/)?[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageId:
    """A page id taken apart; `kind` is that of a folded template, `instance` is None in the bare form."""

    capability: str
    kind: str | None = None
    instance: str | None = None

    def __str__(self) -> str:
        """As it is written; reads back as the same. A domain id that itself holds `#` must name its instance."""
        kind = "" if self.kind is None else f"@{self.kind}"
        return f"{self.capability}{kind}" if self.instance is None else f"{self.capability}{kind}#{self.instance}"


def read_page_id(text: object) -> PageId | None:
    """Take a page id apart; None for a malformed one, which is an unknown id (SPEC 2.3).

    The last `#` parts the instance. Only ids of the view have a kind: in a domain's own name `@` is a character.
    """
    if not isinstance(text, str):
        return None
    rest, hash, instance = text.rpartition("#")
    if not hash:
        rest, instance = text, ""
    elif not _INSTANCE.fullmatch(instance):
        return None
    capability, kind = rest, None
    if rest.startswith("view:"):
        capability, at, tail = rest.partition("@")
        if at:
            if not _KIND.fullmatch(tail):
                return None
            kind = tail
    if parse_capability_id(capability) is None:
        return None
    return PageId(capability=capability, kind=kind, instance=instance if hash else None)
