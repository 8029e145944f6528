"""The JSON form of an error, for every door the same."""

from remit._model.wire import error_from_json, error_to_json
from remit.errors import capability_not_found, not_authorized


def test_an_error_comes_back_as_it_was_written() -> None:
    for error in (capability_not_found(), not_authorized(reason="not yours")):
        assert error_from_json(error_to_json(error)) == error
    assert "details" not in error_to_json(capability_not_found())
