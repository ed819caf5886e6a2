"""The operations that an OpenAPI description lists, as tools."""
