"""What is stored of a session, and where.

In reading order: `rows` (the journal), `states` (Liman's states), `json_values` (what may be
stored), `storage` (the seam to a store), `conflicts` (what a second writer is told), `journal`
(what the built-in storages share), `memory`, `disk`, `redis`.
"""
