"""Operations called for real: where a request goes, what it carries, and what comes back."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import urllib.parse
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

import pytest
from api_server import Answer, ApiServer, described, get, parameter
from pydantic import SecretStr

from liman_nb import (
    Agent,
    ExternalTool,
    InMemoryStateStorage,
    ScriptedLLM,
    call,
    tools_from_openapi,
)
from liman_nb.errors import ToolError, UsageError

CANARY = "canary-Tok3n/+=value"


def tool_of(api: ApiServer, path: str, item: dict[str, Any], **options: Any) -> ExternalTool:
    """The one operation of a description."""
    root = {k: options.pop(k) for k in ("components", "security", "servers") if k in options}
    options.setdefault("base_url", api.origin + "/v1")
    [tool] = tools_from_openapi(described({path: item}, **root), **options)
    return tool


# ── the request ──────────────────────────────────────────────────────────────────────────────────


async def test_arguments_go_where_the_description_says(api: ApiServer) -> None:
    """Path, query, header and cookie; what is not given is not sent."""
    item = get(
        parameter("id", "path", required=True),
        parameter("q"),
        parameter("left out"),
        parameter("X-Kind", "header"),
        parameter("theme", "cookie"),
    )
    tool = tool_of(api, "/pets/{id}/toys", item)
    result = await tool({"id": "a/b c", "q": "x&y", "X-Kind": "k", "theme": "dark; a=b"})
    assert result == {"ok": True}
    [asked] = api.asked
    assert (asked.method, asked.target) == ("GET", "/v1/pets/a%2Fb%20c/toys?q=x%26y")
    assert asked.headers["x-kind"] == "k"
    assert asked.headers["cookie"] == "theme=dark%3B%20a%3Db"


async def test_names_that_are_used_in_two_places_are_told_apart(api: ApiServer) -> None:
    """Each with its place; a body beside a parameter of that name is the request's."""
    item = get(parameter("id", "path"), parameter("id"), parameter("body"), parameter("filter[a]"))
    item["post"] = item.pop("get") | {"requestBody": {"content": {"application/json": {}}}}
    tool = tool_of(api, "/pets/{id}", item)
    names = list(tool.schema.parameters["properties"])
    assert names == ["id_path", "id_query", "body", "filter_a", "request_body"]
    await tool({"id_path": "1", "id_query": "2", "body": "3", "filter_a": "4", "request_body": [5]})
    assert api.asked[0].target == "/v1/pets/1?id=2&body=3&filter%5Ba%5D=4"
    assert api.asked[0].body == b"[5]"


@pytest.mark.parametrize(("value"), [".", ".."])
async def test_an_argument_cannot_lead_to_another_operation(api: ApiServer, value: str) -> None:
    """A step up in the address would be one."""
    tool = tool_of(api, "/users/{id}", get(parameter("id", "path")))
    with pytest.raises(ToolError, match=r"must not be '.' or '..'"):
        await tool({"id": value})
    await tool({"id": "../admin"})
    await tool({"id": "%2e%2e"})
    assert [asked.target for asked in api.asked] == ["/v1/users/..%2Fadmin", "/v1/users/%252e%252e"]


async def test_a_json_body_is_checked_and_sent(api: ApiServer) -> None:
    """As it is, with its media type; a call that is made again has the same key."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    content = {"text/plain": {}, "application/vnd.pet+json": {"schema": schema}}
    item = {"post": {"operationId": "op", "requestBody": {"required": True, "content": content}}}
    tool = tool_of(api, "/pets", item)
    with pytest.raises(ToolError, match="body: 'name' is a required property"):
        await tool({"body": {}})
    await tool({"body": {"name": "Rex é"}}, call_id="call-1")
    [asked] = api.asked
    assert asked.headers["content-type"] == "application/vnd.pet+json"
    assert asked.headers["idempotency-key"] == "call-1"
    assert json.loads(asked.body) == {"name": "Rex é"}


async def test_a_form_is_sent_as_a_form(api: ApiServer) -> None:
    """Fields in their declared styles; what is nested otherwise goes as JSON."""
    form = {"schema": {"type": "object"}, "encoding": {"meta": {"style": "deepObject"}}}
    content = {"application/x-www-form-urlencoded": form}
    tool = tool_of(api, "/x", {"post": {"operationId": "op", "requestBody": {"content": content}}})
    await tool({"body": {"a": "1&2", "list": ["x", "y"], "meta": {"k": {"l": 1}}, "o": {"p": [1]}}})
    assert urllib.parse.parse_qsl(api.asked[0].body.decode()) == [
        ("a", "1&2"),
        ("list", "x"),
        ("list", "y"),
        ("meta[k][l]", "1"),
        ("o", '{"p":[1]}'),
    ]


async def test_a_simple_multipart_form_is_sent(api: ApiServer) -> None:
    """An independent reader of MIME finds the fields, whatever their names and values."""
    content = {"multipart/form-data": {"schema": {"type": "object"}}}
    tool = tool_of(api, "/x", {"post": {"operationId": "op", "requestBody": {"content": content}}})
    await tool({"body": {'na"me\r\n': "--x\r\nvalue", "n": 2, "o": {"p": [1]}}})
    [asked] = api.asked
    head = f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode()
    parts = list(BytesParser(policy=HTTP).parsebytes(head + asked.body).iter_parts())
    names = [part.get_param("name", header="content-disposition") for part in parts]
    assert names == ["na%22me%0D%0A", "n", "o"]
    values = [part.get_payload(decode=True) for part in parts]
    assert values == [b"--x\r\nvalue", b"2", b'{"p": [1]}']


async def test_headers_that_steer_a_request_are_no_model_s_to_set(api: ApiServer) -> None:
    """Said in a warning; those that OpenAPI ignores are ignored."""
    item = get(
        *(parameter(n, "header") for n in ("Host", "Cookie", "Accept", "Authorization", "X"))
    )
    with pytest.warns(UserWarning, match="the header 'Host' is not sent"):
        tool = tool_of(api, "/x", item)
    assert list(tool.schema.parameters["properties"]) == ["X"]


# ── where it goes ────────────────────────────────────────────────────────────────────────────────


def test_a_file_or_a_mapping_does_not_say_where_requests_may_go() -> None:
    """The caller does; the error names what the description would like."""
    servers = [
        {"url": "https://{region}.example.com/v2", "variables": {"region": {"default": "eu"}}}
    ]
    with pytest.raises(UsageError, match=r"servers that it names are: https://eu\.example\.com/v2"):
        tools_from_openapi(described({"/x": get()}, servers=servers))
    [tool] = tools_from_openapi(
        described({"/x": get()}, servers=servers), allow_origins=["https://eu.example.com"]
    )
    assert tool.source == "GET https://eu.example.com/v2/x"


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc/passwd", "ftp://x/", "https://user:pw@x/", "//x"),
        *("https://", "http://a b/", "https://evil.example.com", "https://ok.example.com@evil/"),
        *("https://ok.example.com.evil.com", "http://ok.example.com", "https://ok.example.com:444"),
    ],
)
def test_an_operation_whose_server_is_not_allowed_is_left_out(url: str) -> None:
    """Whatever the description says its server is."""
    paths = {"/x": get() | {"servers": [{"url": url}]}, "/y": get(operationId="ok")}
    root = described(paths, servers=[{"url": "https://ok.example.com/"}])
    with pytest.warns(UserWarning, match=r"GET /x: left out: .*server"):
        tools = tools_from_openapi(root, allow_origins=["https://ok.example.com"])
    assert [tool.name for tool in tools] == ["ok"]


async def test_a_description_s_own_origin_is_allowed_and_its_servers_are_relative_to_it(
    api: ApiServer,
) -> None:
    """Where it was fetched from is whom the caller trusts."""
    api.will(Answer(described({"/x": get()}, servers=[{"url": "../v9"}])), Answer())
    tools = tools_from_openapi(f"{api.origin}/docs/api/openapi.json")
    await tools[0]({})
    assert [asked.path for asked in api.asked] == ["/docs/api/openapi.json", "/docs/v9/x"]


def test_a_description_is_not_fetched_from_elsewhere(api: ApiServer) -> None:
    """A redirect within the origin is followed, one to another origin is named."""
    page = Answer(described({"/x": get()}))
    api.will(Answer({}, 302, {"Location": "/b.json"}), page)
    assert tools_from_openapi(f"{api.origin}/a.json")[0].name == "op"
    api.will(Answer({}, 302, {"Location": f"http://localhost:{api.origin[-5:]}/b"}))
    with pytest.raises(UsageError, match="sends on to http://localhost"):
        tools_from_openapi(f"{api.origin}/a.json")
    api.will(Answer({}, 302, {"Location": "/a.json"}))
    with pytest.raises(UsageError, match="sends on from one address to the next"):
        tools_from_openapi(f"{api.origin}/a.json")
    api.will(Answer({}, 404))
    with pytest.raises(UsageError, match="HTTP 404"):
        tools_from_openapi(f"{api.origin}/a.json")


def test_a_base_url_must_be_allowed_too() -> None:
    """A slip is an error and not a request."""
    with pytest.raises(UsageError, match="base_url: its origin https://b is not in allow_origins"):
        tools_from_openapi(described({}), base_url="https://b/x", allow_origins=["https://a"])
    with pytest.raises(UsageError, match=r"base_url: .*no address"):
        tools_from_openapi(described({}), base_url="javascript:1")
    with pytest.raises(UsageError, match="allow_origins: "):
        tools_from_openapi(described({}), allow_origins="example.com")


async def test_only_a_reading_request_follows_a_redirect_and_only_at_home(api: ApiServer) -> None:
    """Another origin never sees the request, nor its credentials."""
    with ApiServer() as other:
        secured = {"security": [{"tok": []}]}
        schemes = {"securitySchemes": {"tok": {"type": "http", "scheme": "bearer"}}}
        tool = tool_of(api, "/x", get(**secured), components=schemes)
        given = {"credentials": {"tok": CANARY}}
        api.will(Answer({}, 307, {"Location": "/v1/y?z=1"}), Answer("moved"))
        assert await tool({}, **given) == "moved"
        assert api.asked[-1].target == "/v1/y?z=1"
        for status in (301, 302, 303, 307, 308):
            api.will(Answer({}, status, {"Location": other.origin + "/steal"}))
            with pytest.raises(ToolError, match="another address, which is not followed") as caught:
                await tool({}, **given)
            assert str(status) in str(caught.value)
        api.will(Answer({}, 302, {"Location": "/v1/x"}))
        with pytest.raises(ToolError, match="more than 5 redirects"):
            await tool({}, **given)
        api.will(Answer({}, 302, {"Location": "/v1/y"}))
        before = len(api.asked)
        with pytest.raises(ToolError, match="not followed"):
            await tool_of(api, "/x", {"post": {"operationId": "op"}})({})
        assert len(api.asked) == before + 1
        assert other.asked == []


# ── who asks ─────────────────────────────────────────────────────────────────────────────────────

SCHEMES = {
    "bearer": {"type": "http", "scheme": "Bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "oauth": {"type": "oauth2", "flows": {}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://x/"},
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "digest": {"type": "http", "scheme": "digest"},
    "tls": {"type": "mutualTLS"},
}


def secured(api: ApiServer, *security: dict[str, Any], **options: Any) -> ExternalTool:
    """An operation that wants to be asked so."""
    components = {"securitySchemes": SCHEMES}
    item = get(parameter("q"), parameter("api key"), security=list(security))
    return tool_of(api, "/x", item, components=components, **options)


@pytest.mark.parametrize(
    ("scheme", "value", "place", "sent"),
    [
        ("bearer", CANARY, "authorization", f"Bearer {CANARY}"),
        ("bearer", SecretStr(CANARY), "authorization", f"Bearer {CANARY}"),
        ("oauth", {"access_token": CANARY}, "authorization", f"Bearer {CANARY}"),
        ("oidc", {"token": CANARY}, "authorization", f"Bearer {CANARY}"),
        ("header", CANARY, "x-key", CANARY),
        ("cookie", CANARY, "cookie", f"sid={urllib.parse.quote(CANARY, safe='')}"),
        (
            "basic",
            {"username": "me", "password": CANARY},
            "authorization",
            "Basic " + base64.b64encode(f"me:{CANARY}".encode()).decode(),
        ),
    ],
)
async def test_each_scheme_takes_its_value_where_it_wants_it(
    api: ApiServer, scheme: str, value: Any, place: str, sent: str
) -> None:
    """The value comes with the call, and is taken out of what the server repeats."""
    tool = secured(api, {scheme: []})
    api.will(Answer({"you sent": sent, "nested": [{sent: 1}]}))
    result = await tool({}, credentials={scheme: value})
    assert api.asked[0].headers[place] == sent
    assert CANARY not in json.dumps(result)
    assert "canary" not in repr(result)
    api.will(Answer({"bad": sent}, 401))
    with pytest.raises(ToolError, match="HTTP 401 Unauthorized") as caught:
        await tool({}, credentials={scheme: value})
    assert "canary" not in str(caught.value)
    assert CANARY not in repr(tool) + repr(tool.schema)


async def test_a_key_in_the_query_is_in_no_log(
    api: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    """HTTP libraries log addresses; the model is not asked for the key either."""
    caplog.set_level(logging.DEBUG)
    tool = secured(api, {"query": []})
    assert list(tool.schema.parameters["properties"]) == ["q"]
    api.will(Answer({}, 302, {"Location": "/v1/y?a=1"}), Answer())
    await tool({"q": "1"}, credentials={"query": CANARY})
    key = f"api%20key={urllib.parse.quote(CANARY, safe='')}"
    assert [asked.target for asked in api.asked] == [f"/v1/x?q=1&{key}", f"/v1/y?a=1&{key}"]
    assert "/v1/x?q=1" in caplog.text
    assert "canary" not in caplog.text


async def test_the_first_alternative_that_the_account_has_is_used(api: ApiServer) -> None:
    """Alternatives are tried in order, all schemes of one are needed, none is sent half."""
    tool = secured(api, {"header": [], "bearer": []}, {"cookie": []})
    await tool({}, credentials={"header": "h-value", "cookie": "c-value"})
    assert api.asked[0].headers["cookie"] == "sid=c-value"
    assert "x-key" not in api.asked[0].headers
    with pytest.raises(ToolError, match="'header' and 'bearer' or 'cookie'"):
        await tool({}, credentials={"header": "h-value", "unknown": CANARY})
    anonymous = secured(api, {}, {"bearer": []})
    await anonymous({})
    await anonymous({}, credentials={"bearer": CANARY})
    assert ["authorization" in asked.headers for asked in api.asked[1:]] == [False, True]
    renamed = secured(api, {"bearer": []}, providers={"bearer": "my_token"})
    await renamed({}, credentials={"my_token": "t-value", "bearer": CANARY})
    assert api.asked[-1].headers["authorization"] == "Bearer t-value"


def test_a_scheme_that_cannot_be_served_leaves_the_operation_out(api: ApiServer) -> None:
    """Unless another way is offered."""
    with pytest.raises(UsageError, match=r"'digest' \(http digest\) is not supported"):
        secured(api, {"digest": []})
    with pytest.raises(UsageError, match=r"'nowhere' .*not declared"):
        secured(api, {"nowhere": []})
    assert secured(api, {"tls": []}, {"bearer": []})


@pytest.mark.parametrize("value", [None, 5, {"user": CANARY}, [CANARY], f"{CANARY}\r\nX: 1", ""])
async def test_a_credential_that_cannot_be_sent_is_not_quoted(api: ApiServer, value: Any) -> None:
    """The error names the provider and the type."""
    for scheme in ("bearer", "header"):
        with pytest.raises(ToolError, match=f"credentials provider '{scheme}' gave a") as caught:
            await secured(api, {scheme: []})({}, credentials={scheme: value})
        assert "canary" not in str(caught.value)
    assert api.asked == []


async def test_a_model_its_storage_and_its_record_never_see_the_credentials(api: ApiServer) -> None:
    """From the provider of the node's account to the server, and nowhere else."""
    root = described(
        {"/x": get(parameter("state"), security=[{"bearer": []}])},
        components={"securitySchemes": SCHEMES},
    )
    specs = """
kind: LLMNode
name: chat
tools: [op]
auth: {service_account: account}
---
kind: ServiceAccount
name: account
context: {inject: [user]}
credentials_provider: bearer
---
{kind: CredentialsProvider, name: bearer, func: issue}
"""

    def issue(context: dict[str, Any]) -> str:
        return f"{CANARY}-{context['user']}"

    storage = InMemoryStateStorage()
    api.will(Answer({"echo": f"{CANARY}-u1"}), Answer({"no": f"{CANARY}-u1"}, 403))
    agent = Agent(
        specs,
        tools=tools_from_openapi(root, base_url=api.origin),
        functions=[issue],
        llm=ScriptedLLM([call("op", state="open"), call("op", state="shut"), "done"]),
        state_storage=storage,
        session_id="s",
    )
    result = await agent.step("go", context={"user": "u1", "other": "x"})
    assert result.output == "done"
    assert [asked.headers["authorization"] for asked in api.asked] == [f"Bearer {CANARY}-u1"] * 2
    seen = "".join(
        [
            repr(vars(storage)),
            str(agent.requests("chat")),
            str(agent._repr_mimebundle_()),
            str(agent.tree()),
            str(agent.messages("chat")),
        ]
    )
    assert "HTTP 403 Forbidden" in seen
    assert "canary" not in seen


# ── the answer ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "kind", "result"),
    [
        (b'{"a": [1, null]}', "application/json; charset=utf-8", {"a": [1, None]}),
        (b'{"t": 1}', "application/problem+json", {"t": 1}),
        (b"5", "application/json", 5),
        (b'{"n": 1', "application/json", '{"n": 1\n[not read as JSON: '),
        (b'{"n": NaN}', "application/json", '{"n": NaN}\n[not read as JSON: '),
        ("grün".encode("latin-1"), "text/plain; charset=latin-1", "grün"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"", "application/json", "HTTP 200, without content"),
        (b"\x89PNG\x00\xff", "image/png", "HTTP 200: 6 bytes of image/png data, not passed on"),
        (b"PK\x03", "application/zip", "HTTP 200: 3 bytes of application/zip data, not passed on"),
        (b"x", "text/plain; charset=nonsense", "x"),
        (b"\xff\xfe", "text/plain", "��"),
    ],
)
async def test_an_answer_is_json_text_or_a_word_about_what_it_is(
    api: ApiServer, body: bytes, kind: str, result: Any
) -> None:
    """Nothing is made up, and nothing is silently dropped."""
    api.will(Answer(body, headers={"Content-Type": kind}))
    got = await tool_of(api, "/x", get())({})
    assert got == result or (isinstance(result, str) and str(got).startswith(result))


async def test_a_long_answer_is_cut_and_says_so(api: ApiServer) -> None:
    """In bytes of the answer; of a failure less is kept."""
    tool = tool_of(api, "/x", get(), max_bytes=1_000)
    api.will(Answer(["x"] * 1_000))
    got = await tool({})
    assert got.endswith("\n[cut: the answer has more than 1,000 bytes]")
    assert len(got) < 1_100
    api.will(Answer(b"y" * 900, headers={"Content-Type": "text/plain"}))
    assert await tool({}) == "y" * 900
    api.will(Answer(b"z" * 50_000, 500, {"Content-Type": "text/plain", "Retry-After": "7"}))
    with pytest.raises(ToolError) as caught:
        await tool_of(api, "/x", get())({})
    assert "HTTP 500 Internal Server Error (retry after 7)" in str(caught.value)
    assert str(caught.value).endswith("[cut: the answer goes on]")
    assert len(str(caught.value)) < 2_300


async def test_a_secret_on_the_edge_of_a_cut_is_not_half_shown(api: ApiServer) -> None:
    """What is cut is read without its end first."""
    tool = secured(api, {"bearer": []}, max_bytes=10_000)
    api.will(Answer(f"{'x' * 1_990}{CANARY}{'x' * 50}".encode(), 400, {"Content-Type": "text/a"}))
    with pytest.raises(ToolError) as caught:
        await tool({}, credentials={"bearer": CANARY})
    assert "cana" not in str(caught.value)
    api.will(Answer(f"{'x' * 9_990}{CANARY}".encode(), headers={"Content-Type": "text/plain"}))
    result = await tool({}, credentials={"bearer": CANARY})
    assert "cana" not in result
    assert "[cut: the answer has more than 10,000 bytes]" in result


async def test_a_slow_server_and_none_at_all_are_told_apart(api: ApiServer) -> None:
    """Both end in a sentence, without a trace of the request."""
    tool = tool_of(api, "/x", get(), timeout=0.2)
    api.will(Answer(wait=2))
    with pytest.raises(ToolError, match=r"op \(GET .*/v1/x\): no answer within 0.2 s") as caught:
        await tool({})
    assert caught.value.__cause__ is None
    [gone] = tools_from_openapi(described({"/x": get()}), base_url="http://127.0.0.1:9")
    with pytest.raises(ToolError, match="no connection: ConnectError"):
        await gone({})


def test_tools_work_on_one_loop_after_another(api: ApiServer) -> None:
    """Each loop has its connection, and closes it."""
    tool = tool_of(api, "/x", get())
    for _ in range(3):
        assert asyncio.run(tool({})) == {"ok": True}


async def test_no_cookie_of_one_call_reaches_another(api: ApiServer) -> None:
    """Sessions share the connection and nothing else."""
    api.will(Answer(headers={"Set-Cookie": "sid=canary; Path=/"}))
    tool = tool_of(api, "/x", get())
    await tool({})
    await tool({})
    assert "cookie" not in api.asked[1].headers
