"""The numbers that bound everything, in one frozen value (SPEC 17)."""

from dataclasses import dataclass, fields
from typing import Final

_MAY_BE_ZERO: Final = frozenset({"hold_s", "network_calls", "network_writes", "repairs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every limit with its default; `Limits(action_s=30)` changes one (SPEC 17).

    Names ending in `_s` are seconds, in `_bytes` bytes of UTF-8; texts are counted in characters, all others are
    counts. A value that is not a positive number, or not an integer where things are counted, is a `ValueError` that
    names the field; only `hold_s`, `network_calls`, `network_writes` and `repairs` may be 0.

    Declarations: `component_description`, `capability_description`, `title`, `meta_bytes`, `schema_bytes`, `depth`.
    Run-time text: `runtime_text`, `note`. Values: `input_bytes`, `output_bytes`, `record_id` (of a record in a call),
    `issues` (problems named in one answer), `repairs` (places repaired in one input; 0 switches repair off). Deadlines:
    `observation_s`, `action_s`, `procedure_s`, `call_max_s` (the longest a host may give one call), `admission_s`,
    `navigation_s` (waiting for the next mount), `progress_s` (between two reports of one call). Concurrency:
    `waiting_per_consumer` (per instance or procedure), `observations_per_consumer`, `observations`,
    `observations_waiting` (per consumer). Replay, per session and consumer: `replay_entries`, `replay_bytes`,
    `replay_s`, `replay_output_bytes` (a larger output is kept as outcome only). After unmount: `tombstones`,
    `tombstone_s`. Probing: `probing` different ids that are not there within `probing_s`, then no answer for as long;
    what was shown within `known_s` counts as known. Confirmation: `decide_s`, `spend_s`, `confirmations_per_surface`,
    `confirmations_per_consumer`, `confirmation_input_bytes`, `denials` within `denial_window_s`, `unanswered` in a row,
    `denial_final_s` (a denial stays final for the identical request), `standing_s`, `standing_uses` and
    `standing_per_session` (approvals for the session). Handoffs: `handoff_s` (until one expires),
    `handoffs_per_surface` and `handoffs_per_consumer` (open at once). Flows: `flow_steps`, judged when a class is
    made. Network doors, per principal and consumer: `network_calls`, `network_writes` (what does more than read) within
    `network_s`; 0 switches one off.
    Store: `store_s` (waiting for its answer to a limit). Doors and sessions: `gap_s` (a view without its client),
    `token_s`, `scope_patterns`, `correlation_id`, `events_backlog` (per listener), `streams` (per consumer),
    `sessions` (per process), `views_per_principal` (server-rendered pages of one person), `view_wait_s` (until such a
    page connects), `idle_session_s`, `hold_s` (a retry waits for the person; 0: it is answered at once),
    `ping_s`, `hold_rounds`, `stop_s` (running calls when the process stops). Blocking handlers: `threads` (per
    surface).
    """

    component_description: int = 500
    capability_description: int = 300
    title: int = 80
    meta_bytes: int = 2_048
    schema_bytes: int = 16_384
    depth: int = 8

    runtime_text: int = 200
    note: int = 300

    input_bytes: int = 65_536
    output_bytes: int = 32_768
    record_id: int = 200
    issues: int = 20
    repairs: int = 100

    observation_s: float = 5.0
    action_s: float = 10.0
    procedure_s: float = 30.0
    call_max_s: float = 600.0
    admission_s: float = 5.0
    navigation_s: float = 2.0
    progress_s: float = 0.1

    waiting_per_consumer: int = 2
    observations_per_consumer: int = 8
    observations: int = 32
    observations_waiting: int = 8
    threads: int = 8

    replay_entries: int = 200
    replay_bytes: int = 1_048_576
    replay_s: float = 600.0
    replay_output_bytes: int = 4_096
    tombstones: int = 100
    tombstone_s: float = 300.0

    probing: int = 20
    probing_s: float = 60.0
    known_s: float = 600.0
    network_calls: int = 60
    network_writes: int = 10
    network_s: float = 10.0
    store_s: float = 2.0

    decide_s: float = 120.0
    spend_s: float = 120.0
    confirmations_per_surface: int = 32
    confirmations_per_consumer: int = 8
    confirmation_input_bytes: int = 8_192
    denials: int = 3
    denial_window_s: float = 600.0
    unanswered: int = 3
    denial_final_s: float = 600.0
    standing_s: float = 900.0
    standing_uses: int = 10
    standing_per_session: int = 32

    handoff_s: float = 1_800.0
    handoffs_per_surface: int = 32
    handoffs_per_consumer: int = 4
    flow_steps: int = 20

    gap_s: float = 15.0
    token_s: float = 900.0
    scope_patterns: int = 100
    correlation_id: int = 128
    events_backlog: int = 1_000
    streams: int = 16
    sessions: int = 10_000
    views_per_principal: int = 64
    view_wait_s: float = 60.0
    idle_session_s: float = 1_800.0
    hold_s: float = 20.0
    ping_s: float = 3.0
    hold_rounds: int = 8
    stop_s: float = 20.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            seconds = isinstance(field.default, float)
            kinds = (int, float) if seconds else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise ValueError(f"limits.{field.name} must be {'a number of seconds' if seconds else 'an integer'}")
            if value == 0 and field.name in _MAY_BE_ZERO:
                continue
            if not 0 < value < float("inf"):
                raise ValueError(f"limits.{field.name} must be positive and finite")
