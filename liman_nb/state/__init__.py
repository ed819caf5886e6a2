"""What is stored of a session, and where.

In reading order: `rows` (the journal), `states` (Liman's states), `json_values` and `storable`
(what may be stored), `storage` (the seam to a store), `session_line`, `open_turns` and `lifetime`
(the list of sessions, and when one expires), `journal` (what the built-in storages share),
`memory`, `disk`, `redis`, `portable` (a session as lines of JSON).
"""
