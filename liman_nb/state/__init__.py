"""What is stored of a session, and where.

In reading order: `rows` (the journal), `states` (Liman's states), `json_values` (what may be
stored), `storage` (the seam to a store), `journal` (what the built-in storages share), `memory`,
`disk`, `redis`.
"""
