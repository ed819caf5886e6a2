"""The crash sweep: processes are killed at every write of the storage, and must lose nothing.

A scenario (`scenarios.py`) is played in a process of its own (`child.py`), which kills itself with
SIGKILL at a chosen point (`killing.py`): before a write of the storage, inside it, or after it.
Another process resumes, and may be killed as well, until one comes to the end. A last process reads
what is stored. Then

* every stored byte equals that of an uninterrupted run, except for what `stored.py` lists;
* every process found, when it began, the very tree that the uninterrupted run had at that row;
* no effect of a committed run happened twice; one that was in flight at a kill happens at most once
  more, and that of a tool with ``on_crash: ask`` never, unless the person said so (`effects.py`).

Storages (`storages.py`): diskcache (inside: at any statement of a transaction, its COMMIT too, and
in the middle of an INSERT), Redis (inside: the script is sent and its reply not read), a class with
Liman's four methods (inside: between two saves, or between the writing of a file and its renaming),
and Redis where it is the server that is killed, with its client or under it.

    pytest tests/sweep                    at least 500 kills, every scenario x storage x place
    pytest tests/sweep --kills 3000       more of them
    pytest tests/sweep --kills all        every write x every place, and many more at random times
    pytest tests/sweep --sweep-seed 7     others, where they are drawn

A table at the end says what was done. `plan.py` chooses the points, `trials.py` runs one trial.
"""
