"""Wire names tell every capability of a listing apart, whatever its id, and depend on nothing else."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit._toolset.wire_names import NAME_BUDGET, wire_name, wire_names

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")

view_ids = st.lists(st.text("abz-", min_size=1, max_size=4), min_size=2, max_size=4).map(
    lambda s: "view:" + ".".join(s)
)
domain_ids = st.text("ab0._:-/ é@", min_size=1, max_size=12).map(lambda s: "domain:" + s)
ids = st.one_of(view_ids, domain_ids)
instances = st.one_of(st.none(), st.text("abt0_-", min_size=1, max_size=10), st.just("0_abcdefghijkl"), st.just("a/b"))


@pytest.mark.requirement("12.1-encoding")
def test_the_colon_becomes_one_underscore_and_every_dot_two() -> None:
    assert wire_name("view:devices.table.selectRows") == "view_devices__table__selectRows"
    assert wire_name("domain:devices.disable") == "domain_devices__disable"


@pytest.mark.requirement("12.1-instances-are-named")
def test_an_instance_follows_after_at() -> None:
    assert wire_name("view:devices.table.readState", "main") == "view_devices__table__readState_at_main"
    assert wire_name("view:devices.table.readState", "left_panel") == "view_devices__table__readState_at_left_panel"


@pytest.mark.requirement("12.1-hash-suffix")
@pytest.mark.parametrize(
    "capability",
    ["domain:list_devices", "domain:a/b", "domain:a:b", "domain:a..b", "domain:.a", "domain:é", "domain:a b"],
)
def test_an_id_that_the_encoding_could_confuse_ends_in_a_hash(capability: str) -> None:
    name = wire_name(capability)
    assert re.search(r"_0_[a-z2-7]{12}$", name)
    assert ALLOWED.fullmatch(name)


@pytest.mark.requirement("12.1-64-characters")
def test_a_long_name_is_cut_and_still_differs_by_its_last_character() -> None:
    long = "view:" + ".".join(["segment"] * 14)
    assert len(wire_name(long + ".aa")) == NAME_BUDGET
    assert wire_name(long + ".aa") != wire_name(long + ".ab")


@pytest.mark.requirement("12.1-name-budget")
def test_a_budget_leaves_room_for_a_prefix_of_the_client() -> None:
    assert len(wire_name("view:devices.table.selectAllRowsOfThePage", "main", budget=40)) == 40
    with pytest.raises(ValueError, match="32"):
        wire_name("view:a.b", budget=31)


@pytest.mark.requirement("12.1-hash-suffix")
def test_an_instance_that_looks_like_a_hash_is_hashed_itself() -> None:
    assert wire_name("view:a.b", "x_0_abcdefghijkl") != "view_a__b_at_x_0_abcdefghijkl"


def test_no_clean_name_starts_like_a_fixed_tool() -> None:
    assert not wire_name("view:surface.continue").startswith("surface_")


@pytest.mark.requirement("12.1-wire-names-are-injective", "12.1-independent-of-order-and-process")
@given(st.lists(st.tuples(ids, instances), max_size=12))
def test_every_entry_of_a_listing_has_one_name_of_its_own(listing: list[tuple[str, str | None]]) -> None:
    named = wire_names(listing)
    assert sorted(named.values(), key=repr) == sorted(set(listing), key=repr)
    assert all(ALLOWED.fullmatch(name) for name in named)
    assert named == wire_names(reversed(listing))


@pytest.mark.requirement("12.1-wire-names-are-injective")
@given(st.tuples(ids, instances), st.tuples(ids, instances))
def test_two_entries_never_share_a_name(one: tuple[str, str | None], other: tuple[str, str | None]) -> None:
    assert (wire_name(*one) == wire_name(*other)) == (one == other)


@pytest.mark.requirement("12.1-wire-names-are-injective")
def test_a_clash_of_hashes_gives_both_the_longest_hash_in_either_order() -> None:
    # Equal but for what a name cannot say, and one character of hash cannot tell 200 apart.
    entries = [(f"domain:x{chr(0x4E00 + number)}", None) for number in range(200)]
    named = wire_names(entries, width=1)
    assert sorted(named.values()) == sorted(entries)
    assert all(re.fullmatch(r"domain_x-_0_[a-z2-7]{26}", name) for name in named)
    assert named == wire_names(entries[::-1], width=1)


@pytest.mark.requirement("12.1-independent-of-order-and-process")
def test_names_do_not_depend_on_the_process() -> None:
    code = "from remit._toolset.wire_names import wire_name; print(wire_name('domain:list_devices', 'a/b'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert printed == {wire_name("domain:list_devices", "a/b")}
