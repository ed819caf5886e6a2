"""The engine: a pure core that decides, and a shell that performs."""
