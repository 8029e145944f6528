"""The boundary's bytes against an independent implementation of RFC 8785."""

import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from remit._base.boundary import SAFE_INTEGER, NotJson, canonical, loads, take

SPECIAL_KEYS = st.sampled_from(
    ["", "\U0001f600", "\U00010000", "\ue000", "\uffff", "\x00", '"', "\\", "a", "é", "\u2028"]
)
KEYS = SPECIAL_KEYS | st.text(max_size=4)
SPECIAL_FLOATS = st.sampled_from(
    [-0.0, 1e21, 1e22, -1e21, 1e-5, 9.9e-6, 1e-6, 1e-7, 5e-324, 1.5, 0.1, 1e300, 123456.789]
)
FLOATS = SPECIAL_FLOATS | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = (
    st.none() | st.booleans() | st.integers(-SAFE_INTEGER, SAFE_INTEGER) | FLOATS | st.text(max_size=8) | SPECIAL_KEYS
)
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


def is_unsafe(value: Any) -> bool:
    if isinstance(value, dict):
        return any(is_unsafe(child) for child in value.values())
    if isinstance(value, list):
        return any(is_unsafe(child) for child in value)
    return isinstance(value, float) and value.is_integer() and SAFE_INTEGER < abs(value) < 1e21


@settings(max_examples=400, deadline=None)
@given(DOCUMENTS)
def test_the_bytes_equal_an_independent_rfc_8785(document: Any) -> None:
    if is_unsafe(document):
        with pytest.raises(NotJson):
            take(document)
        return
    value, data = take(document)
    assert value == document
    assert data == rfc8785.dumps(document)
    assert canonical(value) == data
    assert take(loads(data)) == (value, data)


@settings(max_examples=800, deadline=None)
@given(FLOATS)
def test_every_float_prints_as_in_ecmascript_or_is_refused(number: float) -> None:
    if number.is_integer() and SAFE_INTEGER < abs(number) < 1e21:
        with pytest.raises(NotJson):
            take(number)
        return
    _, data = take([number])
    assert data == rfc8785.dumps([number])
    assert math.isclose(float(data[1:-1]), number, rel_tol=0.0, abs_tol=0.0)
