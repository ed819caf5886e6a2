"""Names of the keys on the server.

    liman_nb:{agency:root}:rows          list: the rows of a session's journal, in order
    liman_nb:{agency:root}:session       hash: the session's line in the list of sessions; whether
                                         its last turn is open (``open``); how many bytes its
                                         longest row has (``longest``); the number of its latest
                                         lease (``fence``), and while that is held by whom
                                         (``holder``) and till when (``until``)
    liman_nb:{agency:root}:actors        hash: states saved with save_actor_state, by actor
    liman_nb:{agency:id}:executor        string: a state saved with save_executor_state

What stands in braces decides, on a Redis Cluster, which node has a key, so all that one commit
changes lies on one node. Agency and id are percent-encoded: they cannot end the braces, and they
mean nothing in a pattern.

There is no key for the list of sessions: it is what the ``session`` keys add up to, found with
``SCAN``. A key of its own would lie on another node, and could be ahead of or behind the sessions.
"""

from __future__ import annotations

from urllib.parse import quote, unquote


class Keys:
    """The keys of one agency.

    Args:
        agency: a name that keeps several users of one server apart; empty for none.

    Raises:
        UnicodeEncodeError: the agency's name has no form in UTF-8.
    """

    def __init__(self, agency: str) -> None:
        self._start = f"liman_nb:{{{quote(agency, safe='')}:"
        self.every_session = f"{self._start}*}}:session"

    def journal(self, root: str) -> tuple[str, str]:
        """The keys that a commit changes: rows and session."""
        return self._key(root, "rows"), self.session(root)

    def session(self, root: str) -> str:
        """The key of a session's line."""
        return self._key(root, "session")

    def actors(self, root: str) -> str:
        """The key of a session's saved actors."""
        return self._key(root, "actors")

    def executor(self, execution_id: str) -> str:
        """The key of a saved executor."""
        return self._key(execution_id, "executor")

    def root_in(self, session_key: bytes) -> str:
        """The id of the root executor that a session's key is about."""
        return unquote(session_key.decode().removeprefix(self._start).removesuffix("}:session"))

    def _key(self, identity: str, kind: str) -> str:
        return f"{self._start}{quote(identity, safe='')}}}:{kind}"
