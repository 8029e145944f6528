"""Every field of `Limits` has a test through a public door in which it bounds something (SPEC 17)."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

from remit import Limits

B, U, A = "tests/behaviour/", "tests/unit/", "tests/adapters/"
NETWORK = B + "test_shared_limits.py::test_the_limits_of_network_doors_are_settable_and_off_only_by_name_with_a_finding"
PROVEN = {
    "component_description": B
    + "test_declarations.py::test_descriptions_and_titles_have_limits_and_refused_characters",
    "capability_description": B
    + "test_declarations.py::test_descriptions_and_titles_have_limits_and_refused_characters",
    "title": B + "test_declarations.py::test_descriptions_and_titles_have_limits_and_refused_characters",
    "meta_bytes": B + "test_marks_of_outputs.py::test_a_mark_that_is_none_is_refused_when_the_class_is_made",
    "schema_bytes": B + "test_contract.py::test_a_schema_deeper_than_8_or_larger_than_16384_bytes_is_refused",
    "depth": B + "test_contract.py::test_a_schema_deeper_than_8_or_larger_than_16384_bytes_is_refused",
    "runtime_text": B + "test_limits.py::test_every_reason_is_cut_at_the_limit_of_run_time_text",
    "note": B + "test_limits.py::test_a_note_is_cut_at_its_limit",
    "input_bytes": B
    + "test_contract.py::test_the_limits_of_input_and_output_are_65536_and_32768_bytes_of_utf_8_and_settable",
    "output_bytes": B
    + "test_contract.py::test_the_limits_of_input_and_output_are_65536_and_32768_bytes_of_utf_8_and_settable",
    "handoff_s": B + "test_handoffs.py::test_how_long_a_handoff_is_open_is_a_limit",
    "handoffs_per_surface": B + "test_handoffs.py::test_as_many_are_open_as_the_limits_say",
    "handoffs_per_consumer": B + "test_handoffs.py::test_as_many_are_open_as_the_limits_say",
    "flow_steps": B + "test_flow_declarations.py::test_twenty_steps_are_the_most",
    "record_id": B + "test_records.py::test_the_length_of_an_id_is_a_limit",
    "issues": B
    + "test_errors.py::test_an_unknown_key_is_refused_with_the_nearest_known_one_and_at_most_20_issues_are_told",
    "repairs": B + "test_repair.py::test_repair_is_bounded_and_zero_switches_it_off",
    "observation_s": B
    + "test_running.py::test_the_deadlines_are_5_s_for_observations_10_s_for_actions_and_30_s_for_procedures",
    "action_s": B + "test_running.py::test_the_limits_of_waiting_and_of_deadlines_are_settable",
    "procedure_s": B
    + "test_running.py::test_the_deadlines_are_5_s_for_observations_10_s_for_actions_and_30_s_for_procedures",
    "call_max_s": B + "test_running.py::test_the_host_may_give_a_call_its_own_deadline_of_at_most_ten_minutes",
    "admission_s": B + "test_running.py::test_the_limits_of_waiting_and_of_deadlines_are_settable",
    "progress_s": B + "test_progress.py::test_the_time_between_two_reports_is_a_limit",
    "waiting_per_consumer": B + "test_running.py::test_the_limits_of_waiting_and_of_deadlines_are_settable",
    "observations_per_consumer": B
    + "test_running.py::test_observations_run_8_at_once_per_consumer_32_in_all_and_8_wait",
    "observations": B + "test_running.py::test_observations_run_8_at_once_per_consumer_32_in_all_and_8_wait",
    "observations_waiting": B + "test_running.py::test_observations_run_8_at_once_per_consumer_32_in_all_and_8_wait",
    "threads": B
    + "test_blocking.py::test_a_call_that_waits_for_a_thread_until_its_deadline_has_done_nothing_and_never_runs",
    "replay_entries": B
    + "test_repeats.py::test_idempotent_entries_go_first_and_a_non_idempotent_one_is_not_evicted_before_its_time",
    "replay_bytes": B + "test_repeats.py::test_the_outputs_kept_for_one_consumer_are_bounded_in_bytes",
    "replay_s": B + "test_repeats.py::test_a_stored_result_is_kept_for_ten_minutes",
    "replay_output_bytes": B + "test_repeats.py::test_an_output_over_4_kib_is_kept_as_outcome_only",
    "tombstones": B + "test_mounts.py::test_100_tombstones_are_kept",
    "tombstone_s": B + "test_mounts.py::test_a_tombstone_tells_those_who_were_shown_it_for_five_minutes",
    "probing": B
    + "test_probing.py::test_after_twenty_different_unknown_ids_in_a_minute_not_found_is_rate_limited_for_a_minute",
    "probing_s": B + "test_probing.py::test_unknown_ids_that_are_a_minute_old_do_not_count",
    "known_s": B + "test_probing.py::test_an_id_that_was_shown_within_ten_minutes_is_known",
    "network_calls": NETWORK,
    "network_writes": NETWORK,
    "network_s": NETWORK,
    "store_s": B + "test_shared_limits.py::test_a_store_that_hangs_refuses_the_call_within_its_deadline",
    "decide_s": B + "test_asking.py::test_120_s_to_decide_then_an_own_window_of_120_s_to_spend",
    "spend_s": B + "test_asking.py::test_120_s_to_decide_then_an_own_window_of_120_s_to_spend",
    "confirmations_per_surface": B + "test_asking.py::test_at_most_8_per_consumer_and_32_per_surface_may_be_pending",
    "confirmations_per_consumer": B + "test_asking.py::test_at_most_8_per_consumer_and_32_per_surface_may_be_pending",
    "confirmation_input_bytes": B
    + "test_asking.py::test_an_input_over_8192_bytes_cannot_be_confirmed_and_nothing_is_created",
    "denials": B + "test_asking.py::test_after_3_denials_of_one_capability_in_10_minutes_a_person_must_lift_it",
    "denial_window_s": B + "test_asking.py::test_denials_further_apart_than_10_minutes_do_not_add_up",
    "unanswered": B + "test_asking.py::test_after_3_requests_in_a_row_without_an_answer_a_person_must_act",
    "denial_final_s": B + "test_asking.py::test_a_denial_is_final_for_the_identical_request_for_10_minutes",
    "standing_s": B + "test_standing.py::test_its_limits_are_settable",
    "standing_uses": B + "test_standing.py::test_its_limits_are_settable",
    "standing_per_session": B + "test_standing.py::test_a_session_holds_32_and_a_further_one_changes_nothing",
    "gap_s": B + "test_remounting.py::test_between_two_mounts_it_waits_15_s_can_be_denied_and_not_approved",
    "token_s": U + "_session/test_delegation.py::test_a_token_lives_from_its_minting_to_its_last_second",
    "scope_patterns": U + "_session/test_delegation.py::test_what_no_token_may_say_is_refused_when_it_is_minted",
    "correlation_id": B + "test_limits.py::test_a_correlation_id_over_its_limit_is_refused_naming_the_limit",
    "events_backlog": B + "test_journal.py::test_an_overflowing_backlog_becomes_one_lost_event",
    "streams": A + "test_door.py::test_no_more_streams_than_the_limit_listen",
    "sessions": U + "gateway/test_app.py::test_there_are_no_more_sessions_than_the_limit",
    "idle_session_s": U + "gateway/test_app.py::test_a_view_whose_client_never_came_is_closed",
    "views_per_principal": A
    + "test_asgi_pages.py::test_one_person_has_so_many_pages_and_the_oldest_unseen_one_goes_first",
    "view_wait_s": A + "test_asgi_pages.py::test_a_page_that_never_connects_is_dropped_after_its_time",
    "hold_s": A + "test_confirmation.py::test_the_handshake_era_answers_plainly_after_one_hold",
    "ping_s": A + "test_confirmation.py::test_a_held_call_of_a_plain_http_client_lives_by_pings",
    "hold_rounds": A + "test_confirmation.py::test_after_the_last_round_the_answer_is_plain_and_continues_later",
}
UNPROVEN = {
    "navigation_s": "the home for NiceGUI waits for it, and no test lets it pass",
    "stop_s": "the door waits for it when the process stops, and no test lets it pass",
}


def functions(file: Path) -> set[str]:
    """The names of a file's tests."""
    found = ast.walk(ast.parse(file.read_bytes()))
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.requirement("17-every-limit")
def test_every_limit_has_a_test_or_says_why_it_has_none(root: Path) -> None:
    assert {each.name for each in fields(Limits)} == PROVEN.keys() | UNPROVEN.keys()
    assert not PROVEN.keys() & UNPROVEN.keys()
    for named in set(PROVEN.values()):
        file, _, test = named.partition("::")
        assert test in functions(root / file), named
