"""Icons as SVG paths around the origin, some 10 pixels wide, so that no font decides how they look.

They take the colour of the group they stand in (``currentColor``).
"""

from __future__ import annotations

from liman_nb.views.palette import OutcomeWord, StatusWord

_ROUND = 'fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'

STATUS_ICONS: dict[StatusWord, str] = {
    "waiting": f'<circle r="4.2" {_ROUND} stroke-width="1.6"/>',
    "skipped": f'<path d="M-4 0H4" {_ROUND} stroke-width="2"/>',
    "running": f'<circle r="4.2" {_ROUND} stroke-width="1.6"/>'
    '<path d="M0-4.2A4.2 4.2 0 0 1 0 4.2Z" fill="currentColor"/>',
    "suspended": '<g fill="currentColor"><circle cx="-4.2" r="1.5"/><circle r="1.5"/>'
    '<circle cx="4.2" r="1.5"/></g>',
    "needs you": '<path d="M0-5.4L5.4 0 0 5.4-5.4 0Z" fill="currentColor"/>',
    "done": f'<path d="M-4.6 .4L-1.4 3.6 4.8-3.8" {_ROUND} stroke-width="2.1"/>',
    "failed": f'<path d="M-4-4L4 4M4-4L-4 4" {_ROUND} stroke-width="2.1"/>',
    "cancelled": f'<circle r="4.4" {_ROUND} stroke-width="1.6"/>'
    f'<path d="M-3 3L3-3" {_ROUND} stroke-width="1.6"/>',
}

OUTCOME_ICONS: dict[OutcomeWord, str] = {
    "fired": f'<path d="M-3.6 .3L-1.1 2.8 3.8-3" {_ROUND} stroke-width="2"/>',
    "not fired": f'<path d="M-3-3L3 3M3-3L-3 3" {_ROUND} stroke-width="1.8"/>',
    "undecided": f'<path d="M-2.2-2.4A2.3 2.3 0 1 1 .9-.4Q0 .2 0 1.4" {_ROUND} stroke-width="1.7"/>'
    '<circle cy="4" r="1.1" fill="currentColor"/>',
    "not considered": '<circle r="2" fill="currentColor"/>',
}

KIND_ICONS: dict[str, str] = {
    "LLM": f'<path d="M-5.4-4.4H5.4V2.6H-.6L-3.4 5.2V2.6H-5.4Z" {_ROUND} stroke-width="1.5"/>',
    "tool": f'<path d="M-5 5L.6-.6M4.9-2.2A3.4 3.4 0 1 1 2.2-4.9L1.4-2 2-1.4Z" {_ROUND} '
    'stroke-width="1.6"/>',
    "function": f'<path d="M3.2-5Q.6-6-.2-2.4L-1.6 3.4Q-2.3 6-4.6 5.2M-3.2-1.6H2.6" {_ROUND} '
    'stroke-width="1.5"/>',
    "person": f'<circle cy="-2.6" r="2.6" {_ROUND} stroke-width="1.5"/>'
    f'<path d="M-4.8 5.4Q-4.4 1.6 0 1.6T4.8 5.4" {_ROUND} stroke-width="1.5"/>',
}
"""By the word for a node's kind. Shown where no status is."""
