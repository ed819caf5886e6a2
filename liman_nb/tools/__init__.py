"""Tools and functions: schemas, validation, resolving names, calling, context and credentials."""
