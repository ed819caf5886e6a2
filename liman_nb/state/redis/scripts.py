"""What has to happen on the server as a whole, in Lua: each script is one round trip.

A script that fails keeps what it wrote before. So each one reads what it needs of both of its keys
first: a key of another type shows before anything is written, and a full memory or a server that
may not write shows at the first write, never at a later one.

The two keys of a session expire in the same millisecond, and only while no turn is open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Argument = str | bytes | int

STORED, TAKEN, DAMAGED = 1, 0, -1
"""How a commit ended. ``TAKEN``: the journal has another length than the commit's writer knew."""


class Client(Protocol):
    """The one method of a Redis client that a script needs."""

    async def execute_command(self, *arguments: Argument) -> Any:
        """Send a command, and give its reply."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script, known to the server by its digest once it ran there."""

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "digest", digest)

    async def __call__(
        self, client: Client, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> Any:
        """Run it; the text is sent only to a server that does not know it."""
        from redis.exceptions import NoScriptError

        rest = (len(keys), *keys, *arguments)
        try:
            return await client.execute_command("EVALSHA", self.digest, *rest)
        except NoScriptError:
            return await client.execute_command("EVAL", self.text, *rest)


_LOOK = """
local rows, session = KEYS[1], KEYS[2]
local length = redis.call('LLEN', rows)
local known = redis.call('HMGET', session, 'open', 'longest')
local open, longest = tonumber(known[1]), tonumber(known[2])
local damaged = (length > 0) ~= (open ~= nil and longest ~= nil)
"""

_KEEP = """
local function keep(open, life)
  if life < 0 then return end
  if open > 0 or life == 0 then
    redis.call('PERSIST', rows)
    redis.call('PERSIST', session)
  else
    local now = redis.call('TIME')
    local till = now[1] * 1000 + math.floor(now[2] / 1000) + life
    redis.call('PEXPIREAT', rows, till)
    redis.call('PEXPIREAT', session, till)
  end
end
"""

COMMIT = Script(
    f"""{_LOOK}{_KEEP}
local first, again, life = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
local anew, runs = ARGV[4] == '1', tonumber(ARGV[5])
local session_id, began, at, turn = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local before_rows = 9

local function is_stored()
  local stored = redis.call('LRANGE', rows, first, first + #ARGV - before_rows - 1)
  for i = 1, #ARGV - before_rows do
    if stored[i] ~= ARGV[before_rows + i] then return false end
  end
  return true
end

if damaged then return {DAMAGED} end
if length ~= first then
  if again and is_stored() then return {STORED} end
  return {TAKEN}
end
if not anew then runs = runs + (open or 0) end
longest = longest or 1
for i = before_rows + 1, #ARGV do
  redis.call('RPUSH', rows, ARGV[i])
  longest = math.max(longest, #ARGV[i])
end
redis.call('HSET', session, 'open', runs, 'longest', longest)
if turn ~= '' then
  redis.call('HSET', session, 'session_id', session_id, 'used_at', at, 'turns', turn)
  redis.call('HSETNX', session, 'created_at', began)
end
keep(runs, life)
return {STORED}
"""
)
"""Adds rows to a journal of exactly `first` rows, and brings the session's line up.

Arguments: first; 1 if this call may have been carried out before, when the connection broke, so
that its own rows are no conflict; milliseconds until the session expires, 0 for never; 1 if the
number of node runs to come starts anew; that number, or its change; session id, time of the first
turn that begins, time and number of the last one, which is empty if none does; the rows.
"""

READ = Script(
    f"""{_LOOK}{_KEEP}
local at, budget, life = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

if damaged then return {{{DAMAGED}}} end
if length == 0 then return {{0}} end
keep(open, life)
local page, size = {{length}}, 0
while at < length and size < budget do
  local surely_fit = math.max(1, math.floor((budget - size) / longest))
  for _, row in ipairs(redis.call('LRANGE', rows, at, at + surely_fit - 1)) do
    page[#page + 1] = row
    size, at = size + #row, at + 1
  end
end
return page
"""
)
"""A journal's length and a page of its rows; what is read is kept as long again.

Arguments: number of the first row; bytes that a page may hold, not counting a last row that is
longer than what was left; milliseconds as for a commit, below 0 to leave the time as it is.
"""

TAIL = Script(
    """
local length = redis.call('LLEN', KEYS[1])
return {length, redis.call('LINDEX', KEYS[1], -1) or ''}
"""
)
"""A journal's length and its last row."""
