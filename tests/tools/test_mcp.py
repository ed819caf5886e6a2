"""Tools of a real MCP server in a process of its own, over stdio and over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import Answer, ApiServer

from liman_nb import Agent, ExternalTool, InMemoryStateStorage, ScriptedLLM, call, tools_from_mcp
from liman_nb.errors import SetupError, ToolError, UsageError
from liman_nb.tools.mcp.server import McpServer

PROGRAM = str(Path(__file__).with_name("mcp_server.py"))
COMMAND = [sys.executable, PROGRAM]
CANARY = "canary-0123456789"

pytestmark = pytest.mark.filterwarnings("ignore:the MCP server:UserWarning")


def by_name(tools: list[ExternalTool]) -> dict[str, ExternalTool]:
    """Tools by their names."""
    return {tool.name: tool for tool in tools}


class HttpServer:
    """The server, listening."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.process = subprocess.Popen([*COMMAND, str(self.port)], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.stop()
        raise AssertionError("the server does not listen")

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def http() -> Iterator[HttpServer]:
    """A server that listens."""
    server = HttpServer()
    yield server
    server.stop()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    """A server either way, not opened."""
    if request.param == "stdio":
        made = tools_from_mcp(command=COMMAND)
    else:
        made = tools_from_mcp(url=request.getfixturevalue("http").url)
    yield made
    made.close()


async def test_a_server_s_tools_are_an_agent_s(server: McpServer) -> None:
    """Offered with the server's texts and schema, called with checked arguments."""
    async with server as tools:
        agent = Agent(
            "{kind: LLMNode, name: chat, tools: [add, fail]}",
            tools=tools,
            llm=ScriptedLLM(
                [call("add", a=2, b=3), call("add", a="2"), call("fail", why="no luck"), "done"]
            ),
            state_storage=InMemoryStateStorage(),
            session_id="s",
        )
        assert (await agent.step("go")).output == "done"
    requests = agent.requests("chat")
    offered = requests[0]["tools"][0]
    assert offered.description == "Add two numbers."
    assert offered.parameters["required"] == ["a"]
    heard = [request["messages"][-1]["content"] for request in requests[1:]]
    assert heard[0] == '{"result":5}'
    assert "a: '2' is not of type 'integer'" in heard[1]
    assert heard[2] == "Error: fail failed: Error executing tool fail: no luck"


def test_a_server_serves_one_loop_after_another_and_several_threads(server: McpServer) -> None:
    """Cells, `asyncio.run` and `run_sync` are different loops; it stays the same process."""
    tools = by_name(server.open())
    assert asyncio.run(tools["remember"]({"note": "a"})) == {"result": ["a"]}
    assert asyncio.run(tools["remember"]({"note": "b"})) == {"result": ["a", "b"]}
    results: list[Any] = []

    def work(n: int) -> None:
        results.append(asyncio.run(tools["add"]({"a": n}))["result"])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(1, 9))


async def test_calls_run_side_by_side(server: McpServer) -> None:
    """Each gets its own answer."""
    async with server as tools:
        add = by_name(tools)["add"]
        results = await asyncio.gather(*(add({"a": n, "b": n}) for n in range(20)))
    assert [result["result"] for result in results] == [2 * n for n in range(20)]


async def test_every_kind_of_block_is_passed_on_or_named(server: McpServer) -> None:
    """Text as text; the rest in words."""
    async with server as tools:
        known = by_name(tools)
        assert await known["say"]({"text": "just text"}) == "just text"
        assert await known["blocks"]() == "\n".join(
            [
                "first",
                "[image: image/png, 5 bytes, not passed on]",
                "[resource more: https://example.com/more]",
                "inside",
            ]
        )
        long = await known["say"]({"text": "y" * 1_000_500})
        assert long.endswith("[cut: 500 more characters]")


async def test_names_fit_models_and_may_have_a_prefix(server: McpServer) -> None:
    """The server is still asked by its own name."""
    async with server as tools:
        assert await by_name(tools)["dotted_name_with_signs"]() == {"result": "odd"}


async def test_only_some_tools_with_a_prefix() -> None:
    """Named as the server has them; one that it has not is a slip."""
    async with tools_from_mcp(command=COMMAND, only=["add", "say"], prefix="t_") as tools:
        assert [tool.name for tool in tools] == ["t_add", "t_say"]
        assert await tools[0]({"a": 1}) == {"result": 2}
    missing = tools_from_mcp(command=COMMAND, only=["ad"])
    with pytest.raises(UsageError, match="no tool 'ad'; did you mean 'add'"):
        missing.open()
    assert repr(missing).endswith("closed>")


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_told(
    server: McpServer, tmp_path: Path
) -> None:
    """The next call works."""
    async with server as tools:
        known, mark = by_name(tools), tmp_path / "mark"
        server._seconds = 3
        with pytest.raises(ToolError, match="slow: no answer within 3 s"):
            await known["slow"]({"mark": str(mark)})
        await appeared(mark)
        assert await known["add"]({"a": 1}) == {"result": 2}


async def test_a_cancelled_call_is_cancelled_on_the_server(
    server: McpServer, tmp_path: Path
) -> None:
    """`agent.stop()` and a kernel interrupt reach what runs elsewhere."""
    async with server as tools:
        known, mark = by_name(tools), tmp_path / "mark"
        task = asyncio.create_task(known["slow"]({"mark": str(mark)}))
        await appeared(tmp_path / "mark.begun")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await appeared(mark)
        assert await known["add"]({"a": 1}) == {"result": 2}


async def appeared(path: Path) -> None:
    """Wait for a file."""
    async with asyncio.timeout(20):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.02)


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


def test_a_process_that_dies_fails_its_calls_and_can_be_started_anew() -> None:
    """With what it wrote last; the tools that an agent has already go on with the new one."""
    server = tools_from_mcp(command=COMMAND, env={"CANARY": CANARY})
    tools = by_name(server.open())
    asyncio.run(tools["remember"]({"note": "a"}))
    with pytest.raises(ToolError, match=r"did not answer: .*closed(?s:.*)last words") as caught:
        asyncio.run(tools["die"]())
    assert CANARY not in str(caught.value)
    assert "last words" in server.stderr
    assert CANARY not in server.stderr
    with pytest.raises(ToolError, match="did not answer"):
        asyncio.run(tools["add"]({"a": 1}))
    server.close()
    with pytest.raises(ToolError, match="is closed; open"):
        asyncio.run(tools["add"]({"a": 1}))
    server.open()
    assert asyncio.run(tools["remember"]({"note": "b"})) == {"result": ["b"]}
    server.close()


def test_a_server_that_listens_again_is_found_again(http: HttpServer) -> None:
    """A connection over HTTP is not a life."""
    with tools_from_mcp(url=http.url) as listed:
        tools = by_name(listed)
        asyncio.run(tools["add"]({"a": 1}))
        http.stop()
        with pytest.raises(ToolError, match=r"http://127.0.0.1"):
            asyncio.run(tools["add"]({"a": 1}))
        http.start()
        assert asyncio.run(eventually(tools["add"], {"a": 1})) == {"result": 2}


async def eventually(tool: ExternalTool, arguments: dict[str, Any]) -> Any:
    """The first call that succeeds; the broken connection may fail one more."""
    for _ in range(3):
        try:
            return await tool(arguments)
        except ToolError:
            await asyncio.sleep(0.1)
    return await tool(arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"command": ["no-such-program-here"]}, "cannot be used: FileNotFoundError"),
        ({"command": [sys.executable, "-c", "print('hello')"]}, "cannot be used: "),
        ({"command": [sys.executable, "-c", "import time; time.sleep(60)"]}, "within 2 s"),
        (
            {"command": [sys.executable, "-c", f"raise SystemExit('boom {CANARY}')"]},
            "It wrote last:\nboom ⟨redacted⟩",
        ),
        ({"url": "http://127.0.0.1:9/mcp?key=" + CANARY}, "http://127.0.0.1:9/mcp cannot be used"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(options: dict[str, Any], said: str) -> None:
    """Before any turn begins, with what it wrote, without what is secret."""
    env = {} if "url" in options else {"env": {"KEY": CANARY}}
    server = tools_from_mcp(**options, **env, timeout=2)
    with pytest.raises(SetupError) as caught:
        server.open()
    assert said in str(caught.value)
    assert CANARY not in str(caught.value) + repr(server)
    assert repr(server).endswith(": closed>")


async def test_a_process_gets_no_variables_but_those_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond what finds programs and homes."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    async with tools_from_mcp(command=COMMAND, env={"GIVEN": "yes"}) as tools:
        seen = await by_name(tools)["environment"]()
    assert seen["GIVEN"] == "yes"
    beyond = {"GIVEN", "LC_CTYPE"}  # Python sets the latter for itself
    assert seen.keys() - beyond <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}


async def test_headers_reach_the_server_and_nothing_else(http: HttpServer) -> None:
    """No result, no error, no representation."""
    headers = {"Authorization": f"Bearer {CANARY}"}
    server = tools_from_mcp(url=http.url, headers=headers)
    async with server as tools:
        said = await by_name(tools)["say"]({"text": f"you sent {CANARY}"})
    assert said == "you sent ⟨redacted⟩"
    assert CANARY not in repr(server) + repr(tools)


def test_requests_go_to_the_address_that_was_named(api: ApiServer) -> None:
    """With the caller's headers; another origin is not sent to."""
    with ApiServer() as other:
        api.will(Answer({}, 307, {"Location": other.origin + "/mcp"}))
        server = tools_from_mcp(url=api.origin + "/mcp", headers={"X-Key": CANARY}, timeout=5)
        with pytest.raises(SetupError, match="not followed"):
            server.open()
        assert {asked.headers["x-key"] for asked in api.asked} == {CANARY}
        assert other.asked == []


async def test_the_timeout_of_its_toolnode_counts(tmp_path: Path) -> None:
    """As for any tool."""
    specs = """
{kind: LLMNode, name: chat, tools: [slow]}
---
{kind: ToolNode, name: slow, timeout: 0.5s}
"""
    async with tools_from_mcp(command=COMMAND, only=["slow"]) as tools:
        agent = Agent(
            specs,
            tools=tools,
            llm=ScriptedLLM([call("slow", mark=str(tmp_path / "mark")), "done"]),
            state_storage=InMemoryStateStorage(),
        )
        await agent.step("go")
        await appeared(tmp_path / "mark")
    said = agent.requests("chat")[1]["messages"][-1]["content"]
    assert said == "Error: slow took longer than 0.5 s"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "either command=[…] or url=…"),
        ({"command": ["a"], "url": "http://x"}, "either command=[…] or url=…"),
        ({"command": "python server.py"}, "command is a list"),
        ({"command": []}, "command is a list"),
        ({"command": ["a"], "headers": {"a": "b"}}, "headers go with url"),
        ({"url": "http://x", "env": {"a": "b"}}, "env and cwd go with command"),
        ({"url": "javascript:1"}, "must begin with http"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(options: dict[str, Any], said: str) -> None:
    """When they are given, not when the server is opened."""
    with pytest.raises(UsageError) as caught:
        tools_from_mcp(**options)
    assert said in str(caught.value)


def test_an_open_server_is_not_opened_twice_and_closing_twice_is_nothing() -> None:
    """And closing ends the process."""
    server = tools_from_mcp(command=COMMAND)
    known = by_name(server.open())
    with pytest.raises(UsageError, match="is open already"):
        server.open()
    process = asyncio.run(known["process"]())["result"]
    os.kill(process, 0)
    server.close()
    server.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def connected(wanted: bool) -> None:
    """Wait until there is a connection's thread, or none."""
    async with asyncio.timeout(30):
        while wanted != any(t.name == "liman_nb: MCP" for t in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_cell_that_is_interrupted_while_a_server_opens_leaves_none() -> None:
    """It is closed as soon as it is open."""
    server = tools_from_mcp(command=COMMAND)
    opening = asyncio.create_task(server.__aenter__())
    await connected(True)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await connected(False)
    assert repr(server).endswith("closed>")


def test_a_script_that_forgets_to_close_ends_and_leaves_no_process() -> None:
    """The interpreter's end closes what is open."""
    code = f"""
import asyncio, sys
from liman_nb import tools_from_mcp
server = tools_from_mcp(command=[sys.executable, {PROGRAM!r}], only=["process"])
tools = server.open()
print(asyncio.run(tools[0]())["result"])
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_without_the_package_the_sentence_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"pip install 'liman_nb\[mcp\]'"):
        tools_from_mcp(command=COMMAND)
