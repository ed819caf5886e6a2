"""The functions of the triage graph."""

from typing import Any


def file_ticket(ticket: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """Files a ticket on behalf of a customer.

    The reference names the desk's own number of the ticket, never the customer.
    """
    urgency = ticket["urgency"] + (context["tier"] == "platinum")
    return {"ticket": f"{ticket['category']}-{len(ticket['topics'])}", "urgency": urgency}


def page_on_call(ticket: dict[str, Any]) -> str:
    """Wakes whoever is on call."""
    return f"paged for: {', '.join(ticket['topics']) or 'an unnamed problem'}"


def thank() -> str:
    """Answers a message that asks for nothing."""
    return "Thank you for writing."


def ask_a_colleague(error: dict[str, Any]) -> str:
    """Takes over when the model's sorting could not be used."""
    return f"A colleague sorts this one ({error['type']})."


def count(ticket: dict[str, Any], state: dict[str, Any]) -> dict[str, int]:
    """Counts messages by category; the node remembers the counts over the session's turns."""
    state[ticket["category"]] = state.get(ticket["category"], 0) + 1
    return dict(state)
