"""What the claims desk looks up."""

EARLIER = {"bicycle": 0, "roof": 3}


def look_up(claim: dict) -> dict:
    """How many earlier claims there are for what was damaged."""
    return {"earlier_claims": EARLIER.get(claim["item"], 0)}
