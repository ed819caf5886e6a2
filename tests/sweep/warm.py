"""What a process of the sweep would do at its beginning, done once for all that are forked.

Nothing here opens a file or a connection, or starts a thread.
"""

import diskcache  # noqa: F401 - a storage imports it when it is opened
import jsonschema.validators  # noqa: F401 - an answer's form is held against it
import redis.asyncio  # noqa: F401
import referencing  # noqa: F401

from liman_nb.specs.conditions import parse_condition
from sweep import child  # noqa: F401

parse_condition("n == 1")  # makes the parser of all conditions
