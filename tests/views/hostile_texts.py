"""Texts that try to become something else than text."""

from __future__ import annotations

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)' x='",
    '" style="position:fixed;inset:0" class="',
    "javascript:alert(1)",
    '<a href="javascript:alert(1)">click</a>',
    "[click](javascript:alert(1))",
    "![x](https://example.invalid/track.png)",
    "<style>*{display:none}</style>",
    "<iframe src=https://example.invalid>",
    "</div></details></summary></span>",
    "<!-- open",
    "]]><x/>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "$\\href{javascript:alert(1)}{x}$ $$\\rule{9in}{9in}$$",
    "{0} {__class__} %s %(x)s ${HOME} {{7*7}}",
    "\u202egnp.exe",
    "pass\u200bword\u2060\ufeff",
    "nul\x00 esc\x1b[31m bell\x07 del\x7f c1\x9b31m",
    "line\u2028sep\u2029para\x85next\rreturn",
    "lone \ud800 surrogate \udfff",
    "not a character \ufffe \uffff",
    "tag \U000e0041\U000e0042 letters",
    "z\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309algo",
    "two\nlines\nRoot Executor (fake) - COMPLETED",
    "tab\tand   spaces",
    "",
    " ",
    "\ufdfd\U00012219\U0001242b",
]
"""Short ones, each for every field."""

ENDLESS = "<b>" + "A" * 10_000_000
"""Ten megabytes."""

NEVER_SHOWN = "\x00\x07\x1b\x7f\x85\x9b\u200b\u2028\u2029\u202e\u2060\ufeff\ufffe\U000e0041\ud800"
"""Characters that must not reach a page or a terminal."""
