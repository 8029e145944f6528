"""Names of properties that never reach an agent (SPEC 11.10)."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from remit import Component, Procedures, Surface, action, observation, reference
from remit.errors import DefinitionError
from tests.behaviour.conftest import AGENT, authority_of, contract_of, output


@pytest.mark.requirement("11.10-denied-names-are-refused")
@pytest.mark.parametrize(
    "name", ["password", "user_password", "apiKey", "model-key", "API_KEY", "css_selector", "xpath", "code", "Html"]
)
def test_what_must_never_reach_an_agent_is_refused_in_inputs_by_its_name(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}

    class Form(Component, type="denied.form"):
        """A form."""

        @action(input=schema)
        def fill(self, values: dict[str, object]) -> None:
            """Fill it."""

    with pytest.raises(DefinitionError, match=f"property '{name}'") as refused:
        authority_of(Form)
    assert f'allow_names={{"{name}": "…"}}' in (refused.value.do or "")


@pytest.mark.requirement("11.10-denied-names-are-refused")
@pytest.mark.parametrize(
    "name", ["postal_code", "promoCode", "next_page_token", "markdown_html", "transcript", "keyword", "secretary"]
)
def test_longer_names_that_only_hold_a_denied_one_pass(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}

    class Form(Component, type="denied.form"):
        """A form."""

        @action(input=schema)
        def fill(self, values: dict[str, object]) -> None:
            """Fill it."""

    assert authority_of(Form).capability_ids == {"view:denied.form.fill"}


class Session(BaseModel):
    user: str
    cookie: str


class Page(BaseModel):
    sessions: list[Session]


@pytest.mark.requirement("11.10-denied-names-are-refused")
def test_an_output_is_searched_however_deep_the_name_stands() -> None:
    class Sessions(Component, type="denied.sessions"):
        """Sessions."""

        @observation
        def read(self) -> Page:
            """Read them."""
            return Page(sessions=[])

    with pytest.raises(DefinitionError, match="property 'cookie'"):
        authority_of(Sessions)


@pytest.mark.requirement("11.10-denied-names-are-refused")
def test_a_value_or_a_definition_of_a_denied_name_is_no_property() -> None:
    class Form(Component, type="denied.form"):
        """A form."""

        @action(
            input={
                "type": "object",
                "properties": {
                    "kind": {"enum": ["password", "code"], "default": "code"},
                    "place": {"$ref": "#/$defs/html"},
                },
                "$defs": {"html": {"type": "object", "properties": {"line": {"type": "integer"}}}},
            }
        )
        def fill(self, values: dict[str, object]) -> None:
            """Fill it."""

    assert authority_of(Form).capability_ids == {"view:denied.form.fill"}


@pytest.mark.requirement("11.10-denied-names-are-refused")
def test_a_reference_is_judged_by_what_agents_see_of_it_so_a_bound_field_passes() -> None:
    backend = Procedures()

    @backend.operation("shop.redeem", effect="server-mutation")
    async def redeem(code: str, cart: str) -> None:
        """Redeem a voucher."""

    class Open(Component, type="denied.open"):
        """Vouchers."""

        redeem = reference("domain:shop.redeem")

    class Bound(Component, type="denied.bound"):
        """Vouchers."""

        redeem = reference("domain:shop.redeem")

        @redeem.bind("code")
        def shown(self) -> str:
            return "X1"

    with pytest.raises(DefinitionError, match="property 'code'"):
        authority_of(Open, procedures=backend)
    assert authority_of(Bound, procedures=backend).capability_ids == {"domain:shop.redeem"}


@pytest.mark.requirement("11.10-an-allowed-name-has-a-reason")
async def test_a_field_is_allowed_by_name_with_a_reason_that_stands_in_the_contract() -> None:
    class Vouchers(Component, type="denied.vouchers"):
        """Vouchers."""

        @observation(allow_names={"code": "printed on every parcel"})
        def find(self, code: str) -> bool:
            """Whether there is one."""
            return code == "X1"

    row = next(each for each in json.loads(contract_of(Vouchers))["capabilities"] if each["id"].endswith(".find"))
    assert row["allow_names"] == {"code": "printed on every parcel"}
    surface = Surface(authority_of(Vouchers), principal="anna")
    with surface.mount(Vouchers()):
        assert output(await surface.connect(AGENT).call("view:denied.vouchers.find", {"code": "X1"})) is True


@pytest.mark.requirement("11.10-an-allowed-name-has-a-reason")
@pytest.mark.parametrize(
    ("allowed", "says"),
    [
        ({"code": ""}, "the reason in allow_names is empty"),
        ({"code": None}, "the reason in allow_names"),
        (["code"], "a dict of names and reasons, not list"),
        ({"code": "printed", "html": "unused"}, "names 'html', which no schema needs allowed"),
    ],
)
def test_an_allowed_name_without_a_reason_or_a_need_is_refused(allowed: Any, says: str) -> None:
    class Vouchers(Component, type="denied.vouchers"):
        """Vouchers."""

        @action(allow_names=allowed)
        def open(self, code: str) -> None:
            """Open one."""

    with pytest.raises(DefinitionError, match=says):
        authority_of(Vouchers)
