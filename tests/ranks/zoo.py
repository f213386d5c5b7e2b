"""A zoo of deadlocks: short programs, as a learner writes them into a cell. Does each hang, work, or work by luck?

    ZOO      six for guessing: two that hang, two that work, two that work only because the messages are short
    HANGS    six that hang for ever under a plain MPI, each for a reason of its own

"luck" means: MPI may keep a short message for its receiver, and then the sender goes on. For a long one it need not,
and does not; `synchronous=True` makes every send wait, and finds that out.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Animal:
    """One program.

    Attributes:
        name: what it is called.
        ranks: how many it runs on.
        code: the text of a cell, which finds `comm`.
        verdict: "hang", "works" or "luck".
        says: what the explanation of its hang contains.
        why: the answer, for a learner who has guessed.
    """

    name: str
    ranks: int
    code: str
    verdict: str
    says: tuple[str, ...]
    why: str


ZOO = (
    Animal(
        "both listen", 2,
        "other = 1 - comm.rank\nword = comm.recv(source=other)\ncomm.send('hello', dest=other)\n",
        "hang",
        ("rank 0 waits in recv(source=1, tag=any)", "rank 1 waits in recv(source=0, tag=any)", "a circle: 0 -> 1 -> 0"),
        "Each waits for a word that the other will only send afterwards.",
    ),
    Animal(
        "both talk", 2,
        "other = 1 - comm.rank\ncomm.send('hello', dest=other)\nword = comm.recv(source=other)\n",
        "luck",
        ("rank 0 waits in send(dest=1, tag=0)", "rank 1 waits in send(dest=0, tag=0)", "a circle: 0 -> 1 -> 0"),
        "A short word is put into a buffer, and both go on to listen. A long one would wait for ever.",
    ),
    Animal(
        "one listens first", 2,
        "other = 1 - comm.rank\nif comm.rank == 0:\n"
        "    comm.send('hello', dest=other)\n    word = comm.recv(source=other)\n"
        "else:\n    word = comm.recv(source=other)\n    comm.send('hello', dest=other)\n",
        "works",
        (),
        "Each send meets a receive, whatever the length of the message.",
    ),
    Animal(
        "behind the barrier", 2,
        "if comm.rank == 0:\n    comm.send('hello', dest=1)\n    comm.barrier()\n"
        "else:\n    comm.barrier()\n    word = comm.recv(source=0)\n",
        "luck",
        ("rank 0 waits in send(dest=1, tag=0)", "rank 1 waits in barrier()", "a circle: 0 -> 1 -> 0"),
        "Rank 1 listens only after the barrier, and rank 0 comes to the barrier only when it need not wait for that.",
    ),
    Animal(
        "only rank 0", 3,
        "if comm.rank == 0:\n    comm.barrier()\n",
        "hang",
        ("rank 0 waits in barrier()", "rank 1 has ended", "rank 2 has ended"),
        "A barrier is for all ranks of the communicator, and two of them never come.",
    ),
    Animal(
        "round and round", 3,
        "right, left = (comm.rank + 1) % 3, (comm.rank - 1) % 3\nrequest = comm.isend('hello', dest=right)\n"
        "word = comm.recv(source=left)\nrequest.wait()\n",
        "works",
        (),
        "isend comes back at once, so that everyone gets to listen.",
    ),
)  # fmt: skip

HANGS = (
    ZOO[0],
    Animal(
        "three in a circle", 3,
        "comm.ssend('hello', dest=(comm.rank + 1) % 3)\nword = comm.recv(source=(comm.rank - 1) % 3)\n",
        "hang",
        ("rank 0 waits in ssend(dest=1, tag=0)", "rank 2 waits in ssend(dest=0, tag=0)", "a circle: 0 -> 1 -> 2 -> 0"),
        "ssend comes back when the message is being received, and nobody gets so far.",
    ),
    Animal(
        "two collectives", 3,
        "if comm.rank == 0:\n    total = comm.allreduce(1)\nelse:\n    total = comm.bcast(1)\n",
        "hang",
        ("rank 0 calls allreduce(op=SUM)", "rank 1 calls bcast(root=0)"),
        "All ranks meet in one collective, and here they meet in two.",
    ),
    ZOO[4],
    Animal(
        "the wrong tag", 2,
        "if comm.rank == 0:\n    comm.send('hello', dest=1, tag=1)\nelse:\n    word = comm.recv(source=0, tag=2)\n",
        "hang",
        (
            "rank 1 waits in recv(source=0, tag=2)", "another message, of rank 0, send(dest=1, tag=1)",
            "rank 0 has ended",
        ),
        "A receive takes only a message with its own tag.",
    ),
    Animal(
        "one too many", 2,
        "if comm.rank == 0:\n    comm.send('hello', dest=1)\n"
        "else:\n    words = [comm.recv(source=0) for _ in range(2)]\n",
        "hang",
        ("rank 1 waits in recv(source=0, tag=any)", "rank 0 has ended, after send(dest=1, tag=0)"),
        "Two receives, one message.",
    ),
)  # fmt: skip


def program(animal):
    """A function of a communicator that runs the code of an animal."""
    code = compile(animal.code, f"<{animal.name}>", "exec")
    return lambda comm: exec(code, {"comm": comm})  # noqa: S102 - our own text
