"""Patterns over ids as values (SPEC 11.2)."""

import pytest

from remit._model.pattern import Patterns
from remit.errors import DefinitionError


def test_equal_sets_of_patterns_are_one_key_and_read_as_they_are_written() -> None:
    one, other = Patterns(["view:b.**", "view:a.*"]), Patterns(["view:a.*", "view:b.**", "view:a.*"])
    assert one == other
    assert len({one, other, Patterns([])}) == 2
    assert one != ["view:a.*", "view:b.**"]
    assert repr(one) == "Patterns(['view:a.*', 'view:b.**'])"


@pytest.mark.parametrize("text", ["view:dev*.table", "view:a..b", "view:a b", "domain:x.*y", "view:***"])
def test_a_segment_is_a_whole_name_or_a_wildcard(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"a segment is a whole name, `\*` or `\*\*`"):
        Patterns([text])
