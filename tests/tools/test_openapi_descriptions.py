"""Descriptions as they are found: selection, names, schemas, mistakes, and malice."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer, described, get, parameter
from hypothesis import given
from hypothesis import strategies as st

from liman_nb import ExternalTool, tools_from_openapi
from liman_nb.errors import ToolError, UsageError
from liman_nb.tools.openapi.document import load_description
from liman_nb.tools.openapi.tools import OpenApiTools

BASE = {"base_url": "https://api.example.com"}


def body_of(schema: Any, version: str = "3.1.0", **schemas: Any) -> ExternalTool:
    """An operation whose body has this schema."""
    content = {"application/json": {"schema": schema}}
    item = {"post": {"operationId": "op", "requestBody": {"content": content}}}
    root = described({"/x": item}, components={"schemas": schemas}) | {"openapi": version}
    [tool] = tools_from_openapi(root, **BASE)
    return tool


def takes(tool: ExternalTool, value: Any) -> bool:
    """Whether a body fits."""
    try:
        tool.validate(json.dumps({"body": value}))
    except ToolError:
        return False
    return True


# ── which operations, and what they are called ───────────────────────────────────────────────────

PETS = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets"]},
        "post": {"operationId": "createPet", "tags": ["pets", "write"]},
    },
    "/pets/{id}": {
        "parameters": [parameter("id", "path", required=True)],
        "get": {"operationId": "pets.get one!", "tags": ["pets"]},
        "delete": {"tags": ["write"]},
    },
    "/owners/{id}/pets": {
        "parameters": [parameter("id", "path")],
        "get": {"operationId": "listPets"},
    },
}


def named(**options: Any) -> list[str]:
    """The names of the tools."""
    with pytest.warns(UserWarning, match="operationId is another one's"):
        return [tool.name for tool in tools_from_openapi(described(PETS), **BASE, **options)]


def test_a_tool_has_the_operation_s_id_as_far_as_a_model_can_call_it() -> None:
    """Else its method and path; names are unique and in the description's order."""
    assert named() == [
        *("listPets", "createPet", "pets_get_one", "delete_pets_id"),
        "get_owners_id_pets",
    ]
    assert named(prefix="vet_", only="GET /pets*") == ["vet_listPets", "vet_pets_get_one"]


@pytest.mark.parametrize(
    ("only", "exclude", "names"),
    [
        (["createPet", "pets.get one!"], (), ["createPet", "pets_get_one"]),
        ("tag:write", (), ["createPet", "delete_pets_id"]),
        ("GET", "/owners/*", ["listPets", "pets_get_one"]),
        (None, ["GET", "delete /pets/{id}"], ["createPet"]),
        (["/pets"], "tag:write", ["listPets"]),
    ],
)
def test_operations_are_selected_by_id_tag_method_and_path(
    only: Any, exclude: Any, names: list[str]
) -> None:
    """`only` first, then `exclude`."""
    assert named(only=only, exclude=exclude) == names


def test_an_entry_that_selects_nothing_is_a_slip() -> None:
    """With the nearest name."""
    with pytest.raises(
        UsageError, match=r"only: 'listPet' is no operation of the API; did you mean"
    ):
        tools_from_openapi(described(PETS), **BASE, only=["listPet"])
    with pytest.raises(UsageError, match="exclude: 'tag:nope'"):
        tools_from_openapi(described(PETS), **BASE, exclude=["tag:nope"])


@given(ids=st.lists(st.text(max_size=80), min_size=1, max_size=6))
def test_any_operation_ids_become_unique_names_that_a_model_can_call(ids: list[str]) -> None:
    """Quotes, spaces, other scripts, very long ones, and the same one twice."""
    paths = {f"/p{n}": {"get": {"operationId": text}} for n, text in enumerate(ids)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tools = tools_from_openapi(described(paths), **BASE)
    assert len({tool.name for tool in tools}) == len(ids)


def test_the_list_shows_names_operations_and_warnings() -> None:
    """And is a list."""
    paths = {
        "/x": get(),
        "/y": {"put": {"requestBody": {"required": True, "content": {"a/b": {}}}}},
    }
    with pytest.warns(UserWarning, match="PUT /y: left out: a body of a/b cannot be sent"):
        tools = tools_from_openapi(described(paths), **BASE)
    assert isinstance(tools, list)
    assert repr(tools) == "op: GET https://api.example.com/x\n1 warning: see .warnings"
    assert tools.warnings == ("PUT /y: left out: a body of a/b cannot be sent",)


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "nullable": True}, ["a", None], [1]),
        ({"type": "string", "enum": ["a"], "nullable": True}, ["a", None], ["b"]),
        ({"nullable": True, "allOf": [{"$ref": "#/components/schemas/N"}]}, [5, None], ["x", 11]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, [2], [1]),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, [1], [2]),
        ({"$ref": "#/components/schemas/N", "nullable": True}, [5], [None]),
    ],
)
def test_the_dialect_of_3_0_means_what_it_says(
    schema: Any, good: list[Any], bad: list[Any]
) -> None:
    """`nullable`, boolean limits; keywords beside a `$ref` count for nothing there."""
    tool = body_of(schema, "3.0.3", N={"type": "integer", "maximum": 10})
    assert all(takes(tool, value) for value in good)
    assert not any(takes(tool, value) for value in bad)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"type": "number", "exclusiveMinimum": 1}, [2], [1]),
        ({"const": "x"}, ["x"], ["y"]),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, [["a", 1]], [[1]]),
        ({"$ref": "#/components/schemas/N", "maximum": 3}, [2], [5]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
    ],
)
def test_3_1_is_json_schema(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """Of 2020-12."""
    tool = body_of(schema, N={"type": "integer", "maximum": 10})
    assert all(takes(tool, value) for value in good)
    assert not any(takes(tool, value) for value in bad)


def test_what_is_only_read_is_not_asked_for() -> None:
    """Neither offered nor required."""
    properties = {"id": {"type": "string", "readOnly": True}, "name": {"type": "string"}}
    tool = body_of({"type": "object", "properties": properties, "required": ["id", "name"]})
    assert takes(tool, {"name": "x"})
    assert "id" not in tool.schema.parameters["properties"]["body"]["properties"]


def test_a_choice_with_overlaps_and_parts_that_exclude_each_other_can_still_be_called() -> None:
    """Descriptions often get `oneOf` and `allOf` wrong; the server decides."""
    cat = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "additionalProperties": False,
    }
    dog = {
        "type": "object",
        "properties": {"bark": {"type": "boolean"}},
        "additionalProperties": False,
    }
    mapping = {"discriminator": {"propertyName": "kind"}}
    refs = [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]
    either = body_of({"oneOf": refs, **mapping}, Cat=cat, Dog=dog)
    assert takes(either, {})
    assert not takes(either, {"kind": 1})
    both = body_of({"allOf": [cat, dog]})
    assert takes(both, {"kind": "x", "bark": True})
    assert not takes(both, {"bark": "loud"})


def test_references_lead_anywhere_in_the_description_and_in_circles() -> None:
    """A tree within itself is checked as deep as the value is."""
    tree = {
        "type": "object",
        "properties": {
            "v": {"type": "integer"},
            "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tr~1ee%20x"}},
        },
    }
    tool = body_of({"$ref": "#/components/schemas/Tr~1ee%20x"}, **{"Tr/ee x": tree})
    assert takes(tool, {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}]})
    assert not takes(tool, {"v": 1, "kids": [{"v": 2, "kids": [{"v": "3"}]}]})


@pytest.mark.parametrize(
    "reference",
    [
        *(
            "https://example.com/a.json",
            "other.yaml#/X",
            "file:///etc/passwd",
            "#/nowhere",
            "#anchor",
        ),
        *("", 5, "#/components/schemas/Loop/0", "#/paths/~3"),
    ],
)
def test_a_schema_that_cannot_be_had_takes_any_value_and_is_warned_of(reference: Any) -> None:
    """Nothing is fetched or opened for it."""
    with pytest.warns(
        UserWarning, match=r"\$ref .* (leads out of|leads nowhere).*any value is taken"
    ):
        tool = body_of({"$ref": reference}, Loop=[])
    assert takes(tool, {"what": "ever"})


def test_mistakes_in_a_schema_cost_the_mistake_only() -> None:
    """As they occur in published descriptions."""
    wrong = {
        "type": "object",
        "required": True,
        "properties": {
            "file": {"type": "file"},
            "any": {"type": "any", "enum": "x"},
            "when": {"type": "string", "format": "date-time", "default": "2020-01-01"},
            "size": {"type": "integer", "minimum": "1", "exclusiveMinimum": True},
            "list": {"type": "array", "items": [{"type": "string"}]},
            "none": None,
        },
        "x-extension": {"type": "nonsense"},
        "example": {"$ref": "#/nowhere"},
    }
    tool = body_of(wrong)
    assert takes(tool, {"file": 1, "any": 2, "size": 0, "list": [1], "none": [1]})
    assert not takes(tool, {"size": "0"})


def test_a_schema_beyond_all_bounds_is_cut_where_it_is_deepest_and_says_so() -> None:
    """A model's context is finite; the nearest levels are kept."""
    schemas: dict[str, Any] = {}
    for n in range(2_000):
        links = {
            f"p{k}": {"$ref": f"#/components/schemas/S{(n * 7 + k) % 2_000}"} for k in range(8)
        }
        schemas[f"S{n}"] = {"type": "object", "properties": {"own": {"type": "string"}, **links}}
    with pytest.warns(UserWarning, match="its arguments are too big to be described in full"):
        tool = body_of({"$ref": "#/components/schemas/S0"}, **schemas)
    assert len(json.dumps(tool.schema.parameters)) < 200_000
    assert not takes(tool, {"own": 1})
    assert not takes(tool, {"p1": {"own": 1}})


def test_a_schema_that_is_big_without_references_is_cut_or_left_out() -> None:
    """Thousands of names, or of values to choose from."""
    many = {f"p{n}": {"type": "integer"} for n in range(3_000)}
    with pytest.warns(UserWarning, match="too big to be described in full"):
        tool = body_of({"type": "object", "properties": many})
    assert not takes(tool, {"p1": "x"})
    assert takes(tool, {"p2999": "x"})
    with pytest.raises(UsageError, match=r"its arguments take .* characters to describe"):
        body_of({"enum": [f"value number {n}" for n in range(20_000)]})


# ── shapes of large public descriptions ──────────────────────────────────────────────────────────

PAYMENTS = """
openapi: 3.0.0
info: {title: Payments, version: '2024-06-20'}
servers: [{url: 'https://api.pay.example/'}]
security: [{basicAuth: []}, {bearerAuth: []}]
components:
  securitySchemes:
    basicAuth: {type: http, scheme: basic}
    bearerAuth: {type: http, scheme: bearer, bearerFormat: auth-scheme}
  schemas:
    country: {type: string, enum: [NO, SE, 'on'], example: NO}
paths:
  /v1/charges:
    get:
      operationId: GetCharges
      description: <p>Returns a list of charges.</p>
      parameters:
      - {name: created, in: query, required: false, style: deepObject, explode: true,
         schema: {anyOf: [{type: object, properties: {gt: {type: integer}}}, {type: integer}]}}
      - {name: expand, in: query, style: deepObject, explode: true,
         schema: {type: array, items: {type: string, maxLength: 5000}}}
      requestBody:
        content: {application/x-www-form-urlencoded: {encoding: {}, schema: {properties: {}}}}
        required: false
      responses: {200: {description: ok}}
    post:
      operationId: PostCharges
      requestBody:
        content:
          application/x-www-form-urlencoded:
            encoding: {metadata: {explode: true, style: deepObject}}
            schema:
              type: object
              properties:
                amount: {type: integer}
                country: {$ref: '#/components/schemas/country'}
                metadata: {anyOf: [{type: object, additionalProperties: {type: string}},
                                   {type: string, enum: ['']}]}
      responses: {200: {description: ok}}
"""

HUB = {
    "openapi": "3.0.3",
    "servers": [{"url": "https://api.hub.example"}],
    "components": {
        "parameters": {
            "owner": {
                "name": "owner",
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
            },
            "per-page": {
                "name": "per_page",
                "in": "query",
                "schema": {"type": "integer", "default": 30},
            },
        },
        "requestBodies": {
            "issue": {
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {
                                "title": {"oneOf": [{"type": "string"}, {"type": "integer"}]}
                            },
                            "required": ["title"],
                        }
                    }
                }
            }
        },
    },
    "paths": {
        "/repos/{owner}/{repo}/issues": {
            "parameters": [
                {"$ref": "#/components/parameters/owner"},
                {"name": "repo", "in": "path", "required": True, "schema": {"type": "string"}},
                {"$ref": "#/components/parameters/per-page"},
            ],
            "get": {
                "operationId": "issues/list-for-repo",
                "parameters": [
                    {
                        "name": "state",
                        "in": "query",
                        "schema": {"type": "string", "enum": ["open"]},
                    },
                    {
                        "name": "per_page",
                        "in": "query",
                        "schema": {"type": "integer", "maximum": 100},
                    },
                ],
            },
            "post": {
                "operationId": "issues/create",
                "requestBody": {"$ref": "#/components/requestBodies/issue"},
            },
        }
    },
}


async def test_a_description_in_the_manner_of_a_payment_provider(
    api: ApiServer, tmp_path: Path
) -> None:
    """YAML, forms, deep objects, two ways to ask, country codes that YAML 1.1 takes for false."""
    file = tmp_path / "pay.yaml"
    file.write_text(PAYMENTS)
    tools = {t.name: t for t in tools_from_openapi(file, base_url=api.origin)}
    secret = {"credentials": {"basicAuth": "sk_test_canary:"}}
    await tools["GetCharges"]({"created": {"gt": 5}, "expand": ["customer"]}, **secret)
    body = {"amount": 5, "country": "NO", "metadata": {"a b": "c"}}
    await tools["PostCharges"]({"body": body}, call_id="c1", **secret)
    assert api.asked[0].query == "created%5Bgt%5D=5&expand%5B0%5D=customer"
    assert api.asked[1].body == b"amount=5&country=NO&metadata%5Ba%20b%5D=c"
    assert api.asked[1].headers["idempotency-key"] == "c1"
    assert all(asked.headers["authorization"].startswith("Basic ") for asked in api.asked)
    with pytest.raises(ToolError, match="'DK' is not one of"):
        await tools["PostCharges"]({"body": {"country": "DK"}}, **secret)


async def test_a_description_in_the_manner_of_a_code_host(api: ApiServer, tmp_path: Path) -> None:
    """Shared parameters and bodies, ids with slashes, parameters of the path that one replaces."""
    file = tmp_path / "hub.json"
    file.write_text(json.dumps(HUB))
    tools = {t.name: t for t in tools_from_openapi(str(file), base_url=api.origin)}
    assert list(tools) == ["issues_list-for-repo", "issues_create"]
    shown = tools["issues_list-for-repo"].schema.parameters
    assert shown["properties"]["per_page"]["maximum"] == 100
    assert shown["required"] == ["owner", "repo"]
    await tools["issues_list-for-repo"]({"owner": "o", "repo": "r", "state": "open"})
    await tools["issues_create"]({"owner": "o", "repo": "r", "body": {"title": 5}})
    assert api.asked[0].target == "/repos/o/r/issues?state=open"
    assert api.asked[1].body == b'{"title": 5}'


def test_a_thousand_paths_are_read() -> None:
    """Large APIs have as many."""
    paths = {
        f"/r{n}/{{id}}": {
            "parameters": [parameter("id", "path")],
            "get": {"operationId": f"get{n}"},
            "put": {
                "operationId": f"put{n}",
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": f"#/components/schemas/S{n}"}}
                    }
                },
            },
        }
        for n in range(1_000)
    }
    schemas = {
        f"S{n}": {"type": "object", "properties": {"a": {"type": "string"}}} for n in range(1_000)
    }
    tools = tools_from_openapi(described(paths, components={"schemas": schemas}), **BASE)
    assert len(tools) == 2_000


# ── what is no description, or means harm ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a mapping"),
        ("[1, 2]", "not a mapping"),
        ('{"openapi": "3.1.0", ', "neither JSON nor YAML"),
        ("a: [", "neither JSON nor YAML"),
        ("swagger: '2.0'", "says swagger 2.0"),
        ("openapi: 2", "says openapi '2'"),
        ("info: {}", "says openapi ''"),
        ("!!python/object/apply:os.system ['touch /tmp/x']", "neither JSON nor YAML"),
        ("openapi: 3.0.0\nx: !!binary aGk=", "holds a bytes"),
        ("[" * 5_000, "neither JSON nor YAML"),
        ('{"a":' * 100_000, "nested too deep"),
        ("a: &a [*a]", "is too much"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n"
                for n in range(9)
            ),
            "is too much",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, text: str, said: str
) -> None:
    """No code runs, no memory is eaten, no recursion ends the process."""
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        tools_from_openapi(file, **BASE)


def test_a_missing_file_a_binary_one_and_a_mapping_in_itself_are_refused(tmp_path: Path) -> None:
    """Each by its own sentence."""
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        tools_from_openapi(tmp_path / "none.json", **BASE)
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not text in UTF-8"):
        tools_from_openapi(tmp_path / "b.json", **BASE)
    looped: dict[str, Any] = described({})
    looped["x"] = looped
    with pytest.raises(UsageError, match="is too much"):
        tools_from_openapi(looped, **BASE)
    with pytest.raises(UsageError, match="file:///etc/hosts"):
        tools_from_openapi("file:///etc/hosts")


def test_plain_words_of_yaml_are_text(tmp_path: Path) -> None:
    """As YAML 1.2 and JSON have it."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "openapi: 3.1.0\non: NO\ndate: 2020-01-02\ntime: 12:30\n1: 2\nn: 1.5\nt: true\ne:\n"
        "signs: [+, ., e5, 1., 007, +1.5e3]\n"
    )
    root = load_description(file).root
    assert root["on"] == "NO"
    assert root["signs"] == ["+", ".", "e5", "1.", "007", 1500.0]
    assert (root["date"], root["time"]) == ("2020-01-02", "12:30")
    assert (root["1"], root["n"], root["t"], root["e"]) == (2, 1.5, True, None)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (get({"$ref": "#/components/parameters/a"}), "leads round in a circle"),
        (get({"$ref": "https://evil.example/p.json"}), "leads out of the description"),
        (get({"name": "x", "in": "nowhere"}), "in 'nowhere' cannot be sent"),
        (get({"name": 5, "in": "query"}), "cannot be sent"),
        (get(parameter("X\r\nEvil: 1", "header")), "cannot be the name of a header"),
        ({"$ref": "#/paths/~1x"}, "leads round in a circle"),
        (
            {
                "post": {
                    "requestBody": {
                        "required": True,
                        "content": {
                            "multipart/form-data": {
                                "schema": {
                                    "properties": {
                                        "f": {"type": "array", "items": {"format": "binary"}}
                                    }
                                }
                            }
                        },
                    }
                }
            },
            "files cannot be sent",
        ),
    ],
)
def test_an_operation_that_cannot_be_called_is_left_out_with_its_reason(
    item: Any, said: str
) -> None:
    """The others stay."""
    circle = {
        "a": {"$ref": "#/components/parameters/b"},
        "b": {"$ref": "#/components/parameters/a"},
    }
    root = described({"/x": item, "/y": get(operationId="ok")}, components={"parameters": circle})
    with pytest.warns(UserWarning, match=said):
        tools = tools_from_openapi(root, **BASE)
    assert [tool.name for tool in tools] == ["ok"]


def test_an_optional_body_that_cannot_be_sent_is_left_off_and_said() -> None:
    """The operation can be called without it."""
    item = {"post": {"operationId": "op", "requestBody": {"content": {"application/pdf": {}}}}}
    with pytest.warns(UserWarning, match="called without its body: a body of application/pdf"):
        [tool] = tools_from_openapi(described({"/x": item}), **BASE)
    assert tool.schema.parameters["properties"] == {}


def test_a_part_of_the_path_that_nobody_described_is_asked_for() -> None:
    """As text, and said."""
    with pytest.warns(UserWarning, match="'id' is in the path and not described"):
        [tool] = tools_from_openapi(described({"/x/{id}": get()}), **BASE)
    assert tool.schema.parameters["required"] == ["id"]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("$ref", "name", "in", "schema", "type", "properties", "required", "items"),
                    *("get", "post", "parameters", "requestBody", "content", "application/json"),
                    *("operationId", "security", "servers", "url", "allOf", "enum", "paths", "/x"),
                    *("description", "style", "explode", "tags", "variables", "encoding", "x"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(
    where=st.sampled_from([BASE, {"allow_origins": ["https://x"]}]),
    item=st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("get", "post", "parameters", "servers", "$ref"), json_values),
    ),
    root=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("components", "security", "servers", "tags"), json_values)
    ),
)
def test_whatever_a_description_holds_it_gives_tools_or_a_sentence(
    item: Any, root: Any, where: Any
) -> None:
    """No error of another kind, whatever stands in any place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            tools = tools_from_openapi(described({"/x/{id}": item}, **root), **where)
        except UsageError:
            return
    assert isinstance(tools, OpenApiTools)
