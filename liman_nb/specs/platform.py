"""What mesh documents may say to the wider platform of LeafMesh, and no part of this package does.

Two tables and one sentence: such a field loads and is named by a warning. What the engine will act
on is not here but in `not_run.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def _by_field(groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {field: instead for instead, fields in groups.items() for field in fields}


DOCUMENT: Mapping[str, str] = _by_field(
    {
        "the agent is named in code: Agent(name=…)": ("name",),
        "nothing depends on it": ("architecture", "description", "environment", "version"),
        "logging is set up in code": ("debug", "log_level"),
        "where state is kept is said in code: Agent(state_storage=…)": ("redis",),
        "edges alone decide what runs, and the turn's bounds when it ends": (
            *("coordination", "manager", "summarizer"),
        ),
        "functions are given in code: Agent(functions=[…], allow_imports=[…])": ("auto_discover",),
        "types are declared where they are used, in yields": ("data_structures",),
        "nothing is optimised": ("evolution",),
        "no broker is listened to": ("brokers",),
        "no channel is connected": ("channels",),
        "no playbook is followed": ("playbooks",),
        "nothing is scheduled": ("schedules", "scheduler"),
        "nothing is looked up": ("knowledge",),
        "nothing is traced": ("monitoring", "observability", "telemetry", "tracing"),
        "nothing is deployed": ("deployment", "scaling"),
        "there is no server": ("api", "webhooks"),
    }
)
"""Fields beside ``agents:``, and what happens instead."""

MESH: Mapping[str, str] = _by_field(
    {
        "Agent(bounds=Bounds(seconds=…)) limits a turn": ("call_timeout",),
        "models are given in code: Agent(llm=…)": ("bedrock", "foundry", "local", "vertex"),
    }
)
"""Fields of the block ``mesh:``, and what happens instead."""

AGENT: Mapping[str, str] = _by_field(
    {
        "edges alone decide what runs next": ("narration",),
        "an output goes along the node's edges, whoever called it": ("response_overrides",),
        "nothing is scheduled": ("schedule", "timezone", "wake_up", "wake_up_input"),
        "no broker is listened to": ("listen_events",),
        "nothing is looked up": ("knowledge",),
        "no skill is loaded": ("skills",),
        "no playbook is followed": ("playbook", "playbooks"),
        "nothing is remembered beyond the session": ("memory", "memory_limit"),
        "its input is what the edge to it carries": (
            *("receive_conversation_history", "history_limit"),
        ),
        "tokens are streamed as the model gives them": ("stream_yield",),
        "'max_tokens' limits a reply": ("max_completion_tokens",),
        "the model reasons as it does by itself": (
            *("effort", "reasoning", "reasoning_budget", "thinking", "thinking_budget"),
        ),
        "the model's server caches as it does by itself": ("enable_prompt_caching",),
        "'yields' say what a reply looks like": ("response_format",),
        "the node's model is the one that 'model' names": ("optimization_strategy",),
        "'prompt' is all that the model is told": ("context_parts",),
        "the model chooses among 'tools'": ("tool_categories", "tool_choice"),
        "a tool's own 'timeout' limits its calls": ("tool_call_timeout",),
        "the calls of one reply are made side by side": ("allow_parallel_tool_calls",),
        "it is an agent like the others": (
            *("super_agent", "super_agent_cost_ceiling", "super_agent_step_cap"),
            *("super_agent_reflection_budget", "super_agent_wall_clock"),
            *("synth_max_tokens_floor", "synth_max_tokens_ceiling"),
        ),
        "'agent_type' says whether a person answers": ("is_human_powered",),
        "the person answers with agent.resume(…)": (
            *("channels", "human_interface", "operator_ids", "webhook_config"),
            *("human_escalation_triggers", "require_human_confirmation"),
        ),
        "the person is shown the question": ("human_context_template",),
        "the function of the agent's name is called": (
            *("connector_config", "framework", "integration"),
        ),
    }
)
"""Fields of an agent, and what happens instead."""


def not_ours(field: str, instead: str) -> str:
    """The warning for a field of these tables."""
    return f"{field} is loaded but not run: {instead}"
