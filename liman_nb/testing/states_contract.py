"""What Liman's four methods have to keep."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from liman_nb.state.storage import StateStorage, settled
from liman_nb.testing.contract import (
    Contract,
    Reopened,
    contract,
    expect,
    expect_same,
    loaded_actor,
    loaded_executor,
    new_id,
)

TEN_MEGABYTES = 10_000_000

ODD_TEXTS = (
    "",
    " ",
    "\x00 \x01 \x1f \x7f",
    "line\r\nline\u2028line\u2029",
    "'; DROP TABLE Cache; --",
    "日本語 العربية \U0001f469\u200d\U0001f52c",
    "é is not e\u0301",
    "\u202eright to left",
    '"quoted" \\ back/slash',
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "a" * 1000,
)

ODD_VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"": ""},
    {"empty": [[], {}, "", None, False, 0, 0.0]},
    {"numbers": [0.1, -1.5e300, 5e-324, 2**53 + 1, -(2**63), 2**70, 1, 1.0, True]},
    {"texts": list(ODD_TEXTS)},
    {text: text for text in ODD_TEXTS},
    {"order": {"z": 1, "a": 2, "m": 3}},
    {"deep": {"a": [{"b": [{"c": [[[[["d"]]]]]}]}]}},
)


class StatesContract(Contract):
    """The part of the contract that is about Liman's four methods."""

    @contract
    async def test_unknown_ids_load_as_none(self, storage: StateStorage) -> None:
        """Where nothing was saved, `None` comes back."""
        expect(await loaded_executor(storage, new_id()) is None, "an unknown executor must be None")
        expect(
            await loaded_actor(storage, new_id(), new_id()) is None, "an unknown actor must be None"
        )

    @contract
    async def test_states_come_back_equal(self, storage: StateStorage) -> None:
        """Empty values, odd texts, big numbers and the order of keys survive."""
        for value in ODD_VALUES:
            root, actor = new_id(), new_id()
            await settled(storage.save_executor_state(root, deepcopy(value)))
            await settled(storage.save_actor_state(root, actor, deepcopy(value)))
            expect_same(await loaded_executor(storage, root), value)
            expect_same(await loaded_actor(storage, root, actor), value)

    @contract
    async def test_one_actor_id_in_two_sessions_is_two_actors(self, storage: StateStorage) -> None:
        """The session is part of what an actor is known by."""
        first, second, actor = new_id(), new_id(), new_id()
        await settled(storage.save_actor_state(first, actor, {"of": "first"}))
        expect(await loaded_actor(storage, second, actor) is None, "the session's id was ignored")
        await settled(storage.save_actor_state(second, actor, {"of": "second"}))
        expect_same(await loaded_actor(storage, first, actor), {"of": "first"})

    @contract
    async def test_the_state_saved_last_is_the_one_that_loads(self, storage: StateStorage) -> None:
        """A state replaces the one before, and leaves nothing of it."""
        root, actor = new_id(), new_id()
        for value in ({"a": 1, "long": "x" * 10_000}, {"b": 2}, {}):
            await settled(storage.save_executor_state(root, value))
            await settled(storage.save_actor_state(root, actor, value))
        expect_same(await loaded_executor(storage, root), {})
        expect_same(await loaded_actor(storage, root, actor), {})

    @contract
    async def test_what_was_saved_cannot_be_changed_from_outside(
        self, storage: StateStorage
    ) -> None:
        """Changing a dictionary after it was saved, or one that was loaded, changes no state."""
        root, value = new_id(), {"items": ["kept"]}
        await settled(storage.save_executor_state(root, value))
        value["items"].append("added after saving")
        loaded = await loaded_executor(storage, root)
        expect_same(loaded, {"items": ["kept"]})
        loaded["items"].append("added after loading")
        expect_same(await loaded_executor(storage, root), {"items": ["kept"]})

    @contract
    async def test_a_state_of_ten_megabytes_comes_back(self, storage: StateStorage) -> None:
        """Long messages are kept whole."""
        root, actor, value = new_id(), new_id(), {"content": "é" * (TEN_MEGABYTES // 2)}
        await settled(storage.save_actor_state(root, actor, value))
        expect_same(await loaded_actor(storage, root, actor), value)

    @contract
    async def test_saved_states_are_there_for_another_object(self, storage: StateStorage) -> None:
        """What one process saved, the next one loads."""
        root, actor = new_id(), new_id()
        await settled(storage.save_executor_state(root, {"of": "root"}))
        await settled(storage.save_actor_state(root, actor, {"of": "actor"}))
        async with Reopened(self, storage) as other:
            expect_same(await loaded_executor(other, root), {"of": "root"})
            expect_same(await loaded_actor(other, root, actor), {"of": "actor"})

    @contract
    async def test_a_state_of_ten_thousand_messages_comes_back(self, storage: StateStorage) -> None:
        """In order, none missing."""
        root, actor = new_id(), new_id()
        value = {"messages": [{"role": "user", "content": str(i)} for i in range(10_000)]}
        await settled(storage.save_actor_state(root, actor, value))
        expect_same(await loaded_actor(storage, root, actor), value)

    @contract
    async def test_states_saved_at_the_same_time_do_not_mix(self, storage: StateStorage) -> None:
        """Each id has its own; of several for one id, one is kept whole."""
        ids, shared = [new_id() for _ in range(50)], new_id()

        async def save(number: int, identity: str) -> None:
            await settled(storage.save_executor_state(identity, {"number": number}))
            await settled(storage.save_executor_state(shared, {str(number): ["x"] * number}))
            expect_same(await loaded_executor(storage, identity), {"number": number})

        await asyncio.gather(*(save(number, identity) for number, identity in enumerate(ids)))
        ((number, items),) = (await loaded_executor(storage, shared)).items()
        expect_same(items, ["x"] * int(number))
