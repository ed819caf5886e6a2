"""Sessions on a Redis Cluster: which node has which key, and a real cluster of two nodes."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot
from redis_server import RedisServer, binary, free_port, storage_on, tell

from liman_nb.errors import StorageError
from liman_nb.state.redis import RedisStateStorage
from liman_nb.state.redis.keys import Keys
from liman_nb.testing import StorageContract
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(agency=texts, root=texts)
def test_all_keys_of_a_session_lie_in_one_slot(agency, root):
    """Whatever braces the names hold; so a commit is one script on one node."""
    keys = Keys(agency)
    own = [*keys.journal(root), keys.session(root), keys.actors(root), keys.executor(root)]
    in_braces = own[0].partition("{")[2].partition("}")[0]
    assert in_braces
    assert {key_slot(key.encode()) for key in own} == {key_slot(in_braces.encode())}


@given(agency=texts, root=texts, other=texts)
def test_keys_of_different_sessions_differ(agency, root, other):
    """And the root's id can be read off the key that lists a session."""
    keys = Keys(agency)
    assert keys.root_in(keys.session(root).encode()) == root
    assert (keys.session(root) == keys.session(other)) == (root == other)
    assert (Keys(other).session(root) == keys.session(root)) == (other == agency)


def test_sessions_are_spread_over_the_slots():
    """The agency alone does not decide where a session lies."""
    keys = Keys("acme")
    slots = {key_slot(keys.session(str(uuid4())).encode()) for _ in range(100)}
    assert len(slots) > 90


# ── a cluster ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A node of a cluster of two, each of which has half of the slots."""
    try:
        binary()
    except FileNotFoundError as error:
        pytest.fail(str(error))
    with _node(tmp_path_factory) as one, _node(tmp_path_factory) as two:
        with one.client() as first, two.client() as second:
            first.execute_command("CLUSTER ADDSLOTSRANGE", 0, 8191)
            second.execute_command("CLUSTER ADDSLOTSRANGE", 8192, 16383)
            second.execute_command("CLUSTER SET-CONFIG-EPOCH", 2)
            bus = two.options["cluster_port"]
            first.execute_command("CLUSTER MEET", "127.0.0.1", two.port, bus)
            deadline = time.monotonic() + 20
            while not (_is_ready(first) and _is_ready(second)):
                assert time.monotonic() < deadline, "the cluster did not form"
                time.sleep(0.05)
        yield one


def _node(tmp_path_factory):
    directory = tmp_path_factory.mktemp("node")
    return RedisServer(directory, cluster_enabled="yes", cluster_port=str(free_port()))


def _is_ready(client):
    state = client.execute_command("CLUSTER INFO")
    return (state["cluster_state"], state["cluster_slots_ok"]) == ("ok", "16384")


class TestRedisCluster(StorageContract):
    @pytest.fixture(autouse=True)
    def _url(self, cluster):
        self.url, self.agency = cluster.url, str(uuid4())

    async def storage(self):
        """On both nodes."""
        return RedisStateStorage(self.url, agency=self.agency, cluster=True)

    async def reopened(self, storage):
        """With connections of its own."""
        return RedisStateStorage(self.url, agency=self.agency, cluster=True)


async def test_sessions_of_both_nodes_are_listed(cluster):
    """Each node has some of them, and a storage finds them all."""
    stories = [Story(session_id=str(number)) for number in range(20)]
    async with storage_on(cluster, agency=str(uuid4()), cluster=True) as storage:
        for story in stories:
            await tell(storage, story, turns=1)
        assert {line.session_id for line in await storage.list_sessions()} == {
            str(number) for number in range(20)
        }
    with cluster.client() as client:
        kept_here = sum(str(s.root) in str(client.keys()) for s in stories)
    assert 0 < kept_here < 20


async def test_states_on_several_nodes_are_deleted_with_their_session(cluster):
    """Executors that were saved one by one lie wherever their ids put them."""
    root, *children = (str(uuid4()) for _ in range(20))
    async with storage_on(cluster, agency=str(uuid4()), cluster=True) as storage:
        await storage.save_executor_state(root, {"child_executor_ids": children})
        for child in children:
            await storage.save_executor_state(child, {})
        assert await storage.delete_session(root)
        for execution_id in (root, *children):
            assert await storage.load_executor_state(execution_id) is None


async def test_what_a_secure_deletion_leaves_on_a_cluster_is_said(cluster):
    """The session is deleted; the files are the nodes' own, and nobody claims otherwise."""
    story = Story()
    async with storage_on(cluster, agency=str(uuid4()), cluster=True) as storage:
        await tell(storage, story, turns=1)
        with pytest.raises(StorageError, match=f"session {story.root} is deleted .* to every node"):
            await storage.delete_session(str(story.root), secure=True)
        assert await storage.load_rows(str(story.root)) == []


async def test_a_cluster_has_to_be_named_as_one(cluster, redis_server):
    """A single node would give only its own sessions; and no cluster is none."""
    async with storage_on(cluster) as storage:
        with pytest.raises(StorageError, match=r"a Redis Cluster: RedisStateStorage\(url, cluster"):
            await storage.list_sessions()
    async with storage_on(redis_server, cluster=True) as storage:
        with pytest.raises(StorageError, match="not a node of a Redis Cluster: leave out cluster"):
            await storage.list_sessions()
