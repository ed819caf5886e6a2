"""A storage with only the four methods that can be cut off, and what of a session must survive."""

import copy
import json
from dataclasses import fields, is_dataclass

from liman_nb import InMemoryStateStorage, StateStorage
from liman_nb.engine.tree import Executor, Tree
from liman_nb.state.rows import AnswerRecord
from liman_nb.state.states import LastCall


class Killed(BaseException):
    """Ends the process in the middle of a commit, as far as the storage can see."""


class FourMethods(StateStorage):
    """Keeps states as JSON text.

    Attributes:
        saves: saves so far.
        left: saves until the next one fails; ``None`` for no failure.
        fault: what is raised then.
    """

    def __init__(self, fault=Killed):
        self.kept, self.saves, self.left, self.fault = {}, 0, None, fault

    def _save(self, key, state):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise self.fault
        self.saves += 1
        self.kept[key] = json.dumps(state)

    async def save_actor_state(self, execution_id, actor_id, state):
        """Keep it."""
        self._save((execution_id, actor_id), state)

    async def load_actor_state(self, execution_id, actor_id):
        """Give it back."""
        return json.loads(self.kept.get((execution_id, actor_id), "null"))

    async def save_executor_state(self, execution_id, state):
        """Keep it."""
        self._save(execution_id, state)

    async def load_executor_state(self, execution_id):
        """Give it back."""
        return json.loads(self.kept.get(execution_id, "null"))


class Journal(InMemoryStateStorage):
    """Keeps rows, and can be cut off as well: before a commit, since each is all or nothing."""

    def __init__(self, fault=Killed):
        super().__init__()
        self.saves, self.left, self.fault = 0, None, fault

    async def commit(self, commit):
        """Keep them."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise self.fault
        self.saves += 1
        await super().commit(commit)


TIMES = ("started_at", "ended_at", "since")
PLACES = ("started_row", "ran_row", "left_row")
"""Numbers of rows: what runs side by side ends in any order."""


def seen(tree: Tree) -> dict:
    """What a session is: without times, and with executors named by the way that leads to them."""
    names = {e.id: _way(tree, e) for e in tree.executors.values()}

    def plain(thing):
        left_out = {"id", "cancelled", *TIMES, *PLACES}
        return {
            f.name: named(getattr(thing, f.name)) for f in fields(thing) if f.name not in left_out
        }

    def named(value):
        if isinstance(value, list | tuple):
            return [named(item) for item in value]
        if isinstance(value, dict):
            return {key_of(key): named(item) for key, item in value.items()}
        if isinstance(value, LastCall):
            return (named(value.executor), value.input, value.output, value.error)
        if is_dataclass(value):
            return plain(value)
        if isinstance(value, AnswerRecord):
            return value.model_dump(exclude={"at"})
        return names.get(value, value) if isinstance(value, str) else copy.deepcopy(value)

    def key_of(key):
        return tuple(map(named, key)) if isinstance(key, tuple) else named(key)

    return {
        "executors": {names[e.id]: plain(e) for e in tree.executors.values()},
        "actors": {a.node: plain(a) for a in tree.actors.values()},
        "turns": [{**plain(t), "cancelled": bool(t.cancelled)} for t in tree.turns],
        "seq": tree.seq,
        "idle": {names[i] for i in tree.idle},
        "asking": {names[i] for i in tree.asking},
        "held": {node: names[i] for node, i in tree.held.items()},
    }


def _way(tree: Tree, executor: Executor) -> str:
    if executor.parent is None:
        return "root"
    return f"{_way(tree, tree.executors[executor.parent])} {executor.parent_run}/{executor.via}"
