"""The functions behind the weather tools. The observations are made up: nothing needs a network."""

OBSERVED = {
    "oslo": {"sky": "light snow", "celsius": -3.0},
    "lisbon": {"sky": "clear", "celsius": 17.5},
    "nairobi": {"sky": "scattered clouds", "celsius": 24.0},
}


def get_weather(city: str) -> dict[str, object]:
    """The current weather of a city.

    Args:
        city: Name of the city, such as Oslo.
    """
    try:
        return {"city": city, **OBSERVED[city.strip().lower()]}
    except KeyError:
        known = ", ".join(name.title() for name in OBSERVED)
        raise LookupError(f"no observations for {city!r}; there are some for {known}") from None


def to_fahrenheit(celsius: float) -> float:
    """Converts a temperature from degrees Celsius to degrees Fahrenheit."""
    return celsius * 9 / 5 + 32
