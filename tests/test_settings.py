"""Where sessions are kept, by the environment: each variable, and what it does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from liman_nb import Agent, DiskCacheStateStorage, InMemoryStateStorage, RedisStateStorage
from liman_nb.errors import SetupError
from liman_nb.settings import VARIABLES, Settings, read_settings
from liman_nb.variables import Variables


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    """None of the variables, and a working directory of its own."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ({}, "store", "diskcache"),
        ({"LIMAN_NB_STORE": "memory"}, "store", "memory"),
        ({"LIMAN_NB_STORE": "Redis"}, "store", "redis"),
        ({"LIMAN_NB_STORE": "disk"}, "store", "diskcache"),
        ({"LEAFMESH_STORE": "redis"}, "store", "redis"),
        ({"LEAFMESH_STORE": "redis", "LIMAN_NB_STORE": "memory"}, "store", "memory"),
        ({}, "directory", ".liman_nb"),
        ({"LIMAN_NB_DIR": "/data/sessions"}, "directory", "/data/sessions"),
        ({}, "agency", ""),
        ({"LIMAN_NB_AGENCY": "sales"}, "agency", "sales"),
        ({"LEAFMESH_AGENCY_NAME": "my-agency"}, "agency", "my-agency"),
        ({"LEAFMESH_AGENCY_NAME": "a", "LIMAN_NB_AGENCY": "b"}, "agency", "b"),
        ({}, "session_ttl", None),
        ({"LIMAN_NB_SESSION_TTL": "60"}, "session_ttl", 60),
        ({"REDIS_SESSION_TTL": "60"}, "session_ttl", None),
        ({"LIMAN_NB_STORE": "redis"}, "session_ttl", 604_800),
        ({"LIMAN_NB_STORE": "redis", "REDIS_SESSION_TTL": "60"}, "session_ttl", 60),
        (
            {
                "LIMAN_NB_STORE": "redis",
                "REDIS_SESSION_TTL": "60",
                "LIMAN_NB_SESSION_TTL": "5",
            },
            "session_ttl",
            5,
        ),
        ({}, "record_ttl", None),
        ({"LIMAN_NB_DEFAULT_TTL": "60"}, "record_ttl", 60),
        ({"LIMAN_NB_STORE": "redis"}, "record_ttl", 3600),
        ({"LIMAN_NB_STORE": "redis", "REDIS_DEFAULT_TTL": "60"}, "record_ttl", 60),
        ({"REDIS_HOST": "cache"}, "redis_host", "cache"),
        ({"REDIS_PORT": "6380"}, "redis_port", 6380),
        ({"REDIS_DB": "3"}, "redis_db", 3),
        ({"REDIS_PASSWORD": "s3cret"}, "redis_password", "s3cret"),
        ({"LIMAN_NB_STORE": ""}, "store", "diskcache"),
    ],
)
def test_each_variable(monkeypatch, variables, field, value):
    """What it sets, what holds without it, and which of two counts."""
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert getattr(read_settings(), field) == value


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("LIMAN_NB_STORE", "postgres", "LIMAN_NB_STORE cannot be used: .*'redis'"),
        ("REDIS_PORT", "6379a", "REDIS_PORT cannot be used: .*integer"),
        ("REDIS_PORT", "70000", "REDIS_PORT cannot be used: .*65535"),
        ("REDIS_DB", "-1", "REDIS_DB cannot be used"),
        ("LIMAN_NB_SESSION_TTL", "0", "LIMAN_NB_SESSION_TTL cannot be used: .*greater than 0"),
        ("LIMAN_NB_DEFAULT_TTL", "soon", "LIMAN_NB_DEFAULT_TTL cannot be used"),
    ],
)
def test_a_value_that_means_nothing_is_one_clear_error(monkeypatch, name, text, complaint):
    """It names the variable."""
    monkeypatch.setenv(name, text)
    with pytest.raises(SetupError, match=complaint):
        read_settings()


def test_the_readme_s_table_has_every_variable_with_its_default():
    """As they are declared; a row has one default for all its names, or one for each."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| variable | is | default |\n")[2].partition("\n\n")[0]
    told = {}
    for names, _, default in (row.strip("| ").split(" | ") for row in table.splitlines()[1:]):
        variables, values = re.findall(r"`(\w+)`", names), re.findall(r"`(.+?)`|(none)", default)
        for position, name in enumerate(variables):
            told[name] = "".join(values[position % len(values)])
    declared = {}
    for field in Variables.model_fields.values():
        alias = field.validation_alias
        for name in [alias] if isinstance(alias, str) else alias.choices:
            declared[name] = str(field.default or (0 if field.default == 0 else "none"))
    assert told == declared
    assert set(told) == set(VARIABLES)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_read_only_when_it_is_named(monkeypatch, tmp_path):
    """A stranger's folder must not redirect conversations."""
    (tmp_path / ".env").write_text("LIMAN_NB_STORE=redis\nREDIS_HOST=elsewhere\n")
    assert read_settings() == Settings()
    assert read_settings(".env").redis_host == "elsewhere"
    monkeypatch.setenv("REDIS_HOST", "here")
    assert read_settings(".env").redis_host == "here"


def test_the_page_s_file_is_understood(tmp_path):
    """As LeafMesh's page on sessions prints it."""
    (tmp_path / ".env").write_text(
        "LEAFMESH_AGENCY_NAME=my-agency\nLEAFMESH_STORE=redis\nREDIS_HOST=localhost\n"
        "REDIS_PORT=6379\nREDIS_DB=0\n# 1 hour for general data\nREDIS_DEFAULT_TTL=3600\n"
        "# 7 days for sessions (the default)\nREDIS_SESSION_TTL=604800\n"
    )
    assert read_settings(tmp_path / ".env") == Settings(
        store="redis", agency="my-agency", session_ttl=604_800, record_ttl=3_600
    )


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """It was named, so it is wanted."""
    with pytest.raises(SetupError, match=r"there is no file 'missing\.env'"):
        read_settings("missing.env")


# ── what it comes to ─────────────────────────────────────────────────────────────────────────────


def test_the_storage_that_is_meant():
    """Nothing is opened or connected to."""
    assert isinstance(Settings().storage(), DiskCacheStateStorage)
    assert isinstance(Settings(store="memory").storage(), InMemoryStateStorage)
    redis = Settings(store="redis", redis_host="::1", redis_password="p@ss/word").storage()
    assert isinstance(redis, RedisStateStorage)
    assert "[::1]:6379" in repr(redis)


@pytest.mark.parametrize("store", ["diskcache", "memory", "redis"])
def test_times_to_live_reach_the_storage(store):
    """Of sessions, and of records."""
    assert Settings(store=store, record_ttl=60).storage().record_ttl == 60


def test_a_password_is_shown_nowhere():
    """Neither of the settings nor of the storage."""
    settings = Settings(store="redis", redis_password="c4nary")
    assert "c4nary" not in repr(settings) + repr(settings.storage())


def test_settings_say_where_they_lead():
    """A password is said to be there, and only if it is."""
    shown = repr(Settings(store="redis"))
    assert shown == "<Settings: redis at localhost:6379/0, agency=''>"
    assert "0, password ***, " in repr(Settings(store="redis", redis_password="c4nary"))


async def test_an_agent_without_a_storage_takes_the_environment_s(monkeypatch):
    """Its agency keeps sessions of one name apart."""
    monkeypatch.setenv("LIMAN_NB_STORE", "memory")
    monkeypatch.setenv("LIMAN_NB_AGENCY", "sales")
    specs = "{kind: LLMNode, name: chat}"
    agent = Agent(specs, llm=["hello"])
    assert isinstance(agent.state_storage, InMemoryStateStorage)
    result = await agent.step("hi", session_id="s")
    monkeypatch.delenv("LIMAN_NB_AGENCY")
    other = Agent(specs, llm=["hello"], state_storage=agent.state_storage)
    assert (await other.step("hi", session_id="s")).execution_id != result.execution_id


def test_an_agent_of_a_file(tmp_path):
    """`Agent.from_env` names it."""
    (tmp_path / "my.env").write_text("LIMAN_NB_DIR=kept_here\n")
    agent = Agent.from_env(tmp_path / "my.env", specs="{kind: LLMNode, name: chat}", llm=["hi"])
    agent.run_sync("hello")
    assert (tmp_path / "kept_here" / "cache.db").exists()


def test_an_agent_whose_storage_is_given_reads_no_variable(monkeypatch):
    """What code says, counts."""
    monkeypatch.setenv("LIMAN_NB_STORE", "nonsense")
    Agent("{kind: LLMNode, name: chat}", state_storage=InMemoryStateStorage(), llm=["hi"])
    with pytest.raises(SetupError, match="LIMAN_NB_STORE"):
        Agent("{kind: LLMNode, name: chat}", llm=["hi"])


def test_nothing_of_it_is_loaded_before_it_is_needed():
    """An agent whose environment says nothing starts as fast as before."""
    code = (
        "import sys, liman_nb.settings as s; s.read_settings();"
        "sys.exit('pydantic_settings' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
