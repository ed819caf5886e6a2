"""What has to happen on the server as a whole, in Lua: each script is one round trip.

A script that fails keeps what it wrote before. So each one reads what it needs of both of its keys
first: a key of another type shows before anything is written, and a full memory or a server that
may not write shows at the first write, never at a later one.

The two keys of a session expire in the same millisecond, and only while no turn is open. A lease
that was taken before the session's first commit has one key, which outlives it by one more of its
lives; so nothing is left of a session that never began.

A lease has a number, higher than that of every lease before it: it is the server's time in
milliseconds, or one more than the last one. So it would rise even if the key was lost in between. A
commit under a lower number than the latest one is refused, whatever its writer believes. A lease
whose time is over and that nobody else has taken yet is still its holder's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Argument = str | bytes | int

STORED, TAKEN, DAMAGED, HELD = 1, 0, -1, -2
"""How a commit ended, or the taking of a lease.

``TAKEN``: the journal has another length than the commit's writer knew. ``HELD``: the lease is
somebody else's.
"""


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

_CLOCK = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

_KEEP = f"""{_CLOCK}
local function keep(open, life)
  if life < 0 then return end
  if open > 0 or life == 0 then
    redis.call('PERSIST', rows)
    redis.call('PERSIST', session)
  else
    local till = now + life
    redis.call('PEXPIREAT', rows, till)
    redis.call('PEXPIREAT', session, till)
  end
end
"""

COMMIT = Script(
    f"""{_LOOK}{_KEEP}
local first, again, life = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
local opened, fence, lease_life = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local session_id, began, at, turn = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local before_rows = 10
local latest = tonumber(redis.call('HGET', session, 'fence'))

local function is_stored()
  local stored = redis.call('LRANGE', rows, first, first + #ARGV - before_rows - 1)
  for i = 1, #ARGV - before_rows do
    if stored[i] ~= ARGV[before_rows + i] then return false end
  end
  return true
end

if damaged then return {{{DAMAGED}}} end
if length ~= first and again and is_stored() then return {{{STORED}}} end
if fence > 0 and latest and latest > fence then
  return {{{HELD}, redis.call('HGET', session, 'holder') or ''}}
end
if length ~= first then return {{{TAKEN}}} end
longest = longest or 1
for i = before_rows + 1, #ARGV do
  redis.call('RPUSH', rows, ARGV[i])
  longest = math.max(longest, #ARGV[i])
end
redis.call('HSET', session, 'open', opened, 'longest', longest)
if fence > 0 and latest then redis.call('HSET', session, 'until', now + lease_life) end
if turn ~= '' then
  redis.call('HSET', session, 'session_id', session_id, 'used_at', at, 'turns', turn)
  redis.call('HSETNX', session, 'created_at', began)
end
keep(opened, life)
return {{{STORED}}}
"""
)
"""Adds rows to a journal of exactly `first` rows, and brings the session's line up.

Replies with how it ended; when the lease is another's, with the holder, too.

Arguments: first; 1 if this call may have been carried out before, when the connection broke, so
that its own rows are no conflict; milliseconds until the session expires, 0 for never; 1 if the
session's last turn is open now; the number of the writer's lease, 0 for none, and its life in
milliseconds; session id, time of the first turn that begins, time and number of the last one, which
is empty if none does; the rows.
"""

_LEASE = f"""{_LOOK}{_KEEP}
local mine, lease_life, life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lease = redis.call('HMGET', session, 'fence', 'holder', 'until')
local latest, holder, till = tonumber(lease[1]), lease[2], tonumber(lease[3])

local function hold(fence)
  redis.call('HSET', session, 'fence', fence, 'holder', mine, 'until', now + lease_life)
  if length == 0 then redis.call('PEXPIREAT', session, now + 2 * lease_life) end
end

if damaged then return {{{DAMAGED}}} end
"""

TAKE = Script(
    f"""{_LEASE}
local is_free = not holder or not till or till <= now or holder == mine
for i = 4, #ARGV do is_free = is_free or holder == ARGV[i] end
if not is_free then
  return {{{HELD}, holder, till - now}}
end
local fence = latest
if holder ~= mine or not latest then fence = math.max(now, (latest or 0) + 1) end
hold(fence)
if length > 0 then keep(open, life) end
return {{{STORED}, fence, length}}
"""
)
"""Takes the lease of a session. Taking it twice with the same holder's text is taking it once.

Arguments: the holder's text; milliseconds of the lease's life, and until the session expires; the
texts of earlier holders whose leases this caller could not give back.

Replies with the lease's number and the journal's length; or with who holds it, and for how many
milliseconds more at most.
"""

RENEW = Script(
    f"""{_LEASE}
local fence = tonumber(ARGV[4])
if latest and latest ~= fence then return {{{HELD}}} end
hold(fence)
return {{{STORED}}}
"""
)
"""Holds a lease for another of its lives, unless it passed on. Arguments: as to take it; number."""

RELEASE = Script(
    """
local fence, session = tonumber(ARGV[1]), KEYS[2]
local length = redis.call('LLEN', KEYS[1])
local known = redis.call('HMGET', session, 'fence', 'open')
if tonumber(known[1]) ~= fence then return end
if length == 0 and not known[2] then
  redis.call('DEL', session)
else
  redis.call('HDEL', session, 'holder', 'until')
  redis.call('HSET', session, 'fence', fence + 1)
end
"""
)
"""Gives a lease back, unless it passed on. Then no commit under it is taken. Argument: number."""

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
