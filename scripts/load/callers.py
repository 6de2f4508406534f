"""Requests as callers send them, and the open loop that sends a plan.

A request has a connection of its own, so no answer waits behind another one's.
"""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from scripts.load.figures import Answer
from scripts.load.plan import Wish

OK = 200
WAIT_S = 120.0
"""Longer than any deadline of the desk: what takes longer has no answer."""


def ask(
    address: str,
    path: str,
    token: str,
    body: bytes | None = None,
    *,
    wait_s: float = WAIT_S,
    content_type: str = "application/json",
) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of an answer; 0 and the fault's name if there was none."""
    where = urlsplit(address)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=wait_s)
    head = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
    try:
        link.request("GET" if body is None else "POST", path, body, head)
        answer = link.getresponse()
        said = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, {"code": type(error).__name__}
    finally:
        link.close()
    try:
        found = json.loads(said)
    except ValueError:
        return answer.status, {}
    return answer.status, found if isinstance(found, dict) else {"items": found}


def followed(address: str, token: str, after: int) -> tuple[Counter[str], int]:
    """Return how often each event came behind a record, and the number of the last record told."""
    where, found, last = urlsplit(address), Counter[str](), after
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=WAIT_S)
    path = f"/v1/events?after={after}&wait_s=0"
    try:
        link.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        for line in link.getresponse():
            name, _, value = line.decode().strip().partition(": ")
            if name == "id":
                last = int(value)
            elif name == "event":
                found[value] += 1
    finally:
        link.close()
    return found, last


def word_of(status: int, said: Mapping[str, Any]) -> str:
    """Return a decision's result, or the code of a refusal."""
    return str(said.get("result") or said.get("code") or ("?" if status else "no answer"))


def answered(caller: str, status: int, said: Mapping[str, Any], took_s: float) -> Answer:
    """Return an answer in figures' terms."""
    word, why = word_of(status, said), str(said.get("reason") or "")
    return Answer(caller=caller, status=status, word=word, took_s=took_s, why=why)


def at_times(times_s: Sequence[float], do: Callable[[int, float], None]) -> list[threading.Thread]:
    """Start `do(number, planned)` at each time from now on, each on a thread; return the threads.

    `planned` is on the monotonic clock. A late generator sends late, and it counts.
    """
    began_s, threads = time.monotonic() + 0.2, []
    for number, at_s in enumerate(times_s):
        planned = began_s + at_s
        time.sleep(max(0.0, planned - time.monotonic()))
        threads.append(threading.Thread(target=do, args=(number, planned), daemon=True))
        threads[-1].start()
    return threads


def sent(
    address: str,
    plan: Sequence[Wish],
    tokens: Mapping[str, str],
    answers: list[Answer] | None = None,
) -> list[Answer]:
    """Send a plan in open loop; return the answers when each is there, or given up.

    They are put into `answers`, if it is given, as they come.
    """
    answers = [] if answers is None else answers

    def one(number: int, planned: float) -> None:
        wish = plan[number]
        status, said = ask(address, "/v1/intents", tokens[wish.caller], wish.bytes)
        took_s = time.monotonic() - planned
        answers.append(answered(wish.caller, status, said, took_s))  # append is safe from threads

    for thread in at_times([wish.at_s for wish in plan], one):
        thread.join(2 * WAIT_S)
    return answers
