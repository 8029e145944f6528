"""The JSON form of outcomes, for every door the same."""

from remit._model.outcome import Failed, Ok
from remit._model.wire import error_from_json, error_to_json, outcome_to_json
from remit.errors import capability_not_found, not_authorized


def test_an_outcome_is_written_with_its_output_or_its_error() -> None:
    ok = Ok(
        invocation_id="inv_1",
        capability_id="view:a.b.read",
        output={"rows": [1]},
        surface_version="srf_1:4",
        surface_changed=True,
    )
    failed = Failed(
        invocation_id="inv_2",
        capability_id="view:a.b.gone",
        error=capability_not_found(),
        surface_version="srf_1:4",
        surface_changed=False,
    )
    assert outcome_to_json(ok) == {
        "ok": True,
        "invocationId": "inv_1",
        "capabilityId": "view:a.b.read",
        "output": {"rows": [1]},
        "surfaceVersion": "srf_1:4",
        "surfaceChanged": True,
    }
    assert outcome_to_json(failed) == {
        "ok": False,
        "invocationId": "inv_2",
        "capabilityId": "view:a.b.gone",
        "error": error_to_json(failed.error),
        "surfaceVersion": "srf_1:4",
        "surfaceChanged": False,
    }


def test_an_error_comes_back_as_it_was_written() -> None:
    for error in (capability_not_found(), not_authorized(reason="not yours")):
        assert error_from_json(error_to_json(error)) == error
    assert "details" not in error_to_json(capability_not_found())
