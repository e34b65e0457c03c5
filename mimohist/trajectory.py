"""MiMo Code's trajectory format: what its plugins are given of a conversation.

A `TrajectoryMessage` (MiMo Code 0.1.13, `packages/plugin/src/index.ts`,
`src/session/trajectory.ts`) is a message's own record with `id`, `sessionID`, `agentID`, `created`
(its `time.created`, epoch milliseconds) and `parts`, each a part's own record with `id`,
`sessionID`, `messageID`.
Nothing is left out or renamed, types and keys nobody has heard of included; only payloads
(`data:` URLs of files and of tools' attachments) are summarised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mimohist.errors import BadInput
from mimohist.kinds import PENDING, Kind, Machine
from mimohist.text import data_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mimohist.records import Message, Part, Usage

    Json = Mapping[str, Any]

TrajectoryMessage = dict[str, Any]
"""A decoded JSON object; `role`, `id`, `agent`, `created` and `parts` are always there."""

MAIN = "main"
ALL_AGENTS = "all"


# What a database holds, made into the format


def message_of(
    info: Json, parts: Sequence[Json], *, id: str, session: str, agent: str, at: int
) -> TrajectoryMessage:
    """Make a message of its stored record and its parts, which `part_of` has made.

    `at` is the row's time (epoch milliseconds), for a record that does not tell its own.
    """
    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    made = {**info, "id": id, "sessionID": session, "agentID": agent}
    made.setdefault("agent", made.get("mode") or agent)
    return {**made, "created": at if created is None else created, "parts": list(parts)}


def part_of(data: Json, *, id: str, session: str, message: str) -> dict[str, Any]:
    """Make a part of its stored record."""
    made = {**data, "id": id, "sessionID": session, "messageID": message}
    if made.get("type") == "file":
        return _summarised(made)
    state = made.get("state")
    if made.get("type") == "tool" and isinstance(state, dict):
        attached = state.get("attachments")
        if isinstance(attached, list) and attached:
            files = [_summarised(one) if isinstance(one, dict) else one for one in attached]
            made["state"] = {**state, "attachments": files}
    return made


def _summarised(file: dict[str, Any]) -> dict[str, Any]:
    """Give a file without its payload; `src/session/trajectory.ts` looks for `data:` likewise."""
    url = file.get("url")
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return file
    mime, name = file.get("mime"), file.get("filename")
    return {
        **file,
        "url": data_url(
            mime if isinstance(mime, str) else "", name if isinstance(name, str) else None
        ),
    }


# Which messages


class Head(NamedTuple):
    """What must be known of a message to choose among messages.

    `agent` is its slice, `name` its agent's.  `starts` says that the model's view began anew with
    it: a user's message with a `compaction` or `checkpoint` part, or where those are not known
    the summary.  `summary` marks the summary of a compaction.
    """

    id: str
    role: str
    agent: str = MAIN
    name: str | None = None
    starts: bool = False
    summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Which messages of a session to give.

    `agent` is a slice (`main`, `explore-1`) or an agent's name; `all` is every slice; None is
    `main`, or the only slice where there is no `main`.

    `compacted` gives what the `session.post` hook saw: from the newest compaction or checkpoint
    on, after what the session inherited from another (`context_from`).

    `step` gives what the `session.userQuery.post` hook saw after the step-th answer of the model
    in the slice, counted from 1, summaries not counted: everything up to that answer, compacted
    as it was then.  Parts are as they are now: later trimming shows.
    """

    agent: str | None = None
    compacted: bool = False
    step: int | None = None

    @property
    def narrows(self) -> bool:
        """Whether compaction is to be followed."""
        return self.compacted or self.step is not None

    def of(self, heads: Sequence[Head]) -> list[Head]:
        """Choose among a session's messages, oldest first.

        Raises `BadInput` for an agent or a step that is not there.
        """
        if self.narrows and self.agent == ALL_AGENTS:
            raise BadInput("what a hook saw is one agent's; give --agent NAME, not all")
        chosen = slice_of(heads, self.agent)
        if self.step is not None:
            chosen = _until(chosen, self.step)
        return compacted(chosen) if self.narrows else chosen


def slice_of(heads: Sequence[Head], agent: str | None) -> list[Head]:
    """Give the messages of a slice, or of an agent by its name where no slice is so called."""
    slices = list(dict.fromkeys(head.agent for head in heads))
    if agent == ALL_AGENTS or not heads:
        return list(heads)
    if agent is None:
        agent = slices[0] if len(slices) == 1 else MAIN
    found = [head for head in heads if head.agent == agent]
    found = found or [head for head in heads if head.name == agent]
    if not found:
        raise BadInput(f"no agent {agent!r} in this session; there are: {', '.join(slices)}, all")
    return found


def compacted(heads: Sequence[Head]) -> list[Head]:
    """Give the messages from the newest on that starts anew (`filterCompacted`)."""
    for place in range(len(heads) - 1, -1, -1):
        if heads[place].starts:
            return list(heads[place:])
    return list(heads)


def _until(heads: Sequence[Head], step: int) -> list[Head]:
    answers = [
        place for place, head in enumerate(heads) if head.role == "assistant" and not head.summary
    ]
    if not 1 <= step <= len(answers):
        raise BadInput(f"no step {step}: the model answered {len(answers)} times here")
    return list(heads[: answers[step - 1] + 1])


def inherited(heads: Sequence[Head], watermark: str | None) -> list[Head]:
    """Give what a session that began with another's context saw of it.

    The other's main slice, compacted, up to and with the message `watermark`; all of it when that
    is not there.
    """
    seen = compacted([head for head in heads if head.agent == MAIN])
    for place, head in enumerate(seen):
        if head.id == watermark:
            return seen[: place + 1]
    return seen


# What is known of other programs' sessions, made into the format


def head_of(message: Message) -> Head:
    """Tell what must be known of a message to choose it."""
    summary = any(part.machine is Machine.SUMMARY for part in message.parts)
    return Head(
        message.id,
        message.role,
        message.agent,
        message.agent_name,
        starts=summary or any(part.machine is Machine.CHECKPOINT for part in message.parts),
        summary=summary,
    )


def of_record(message: Message, session: str) -> TrajectoryMessage:
    """Make a message of what any source, or the index, holds of it.

    A call's input is one text under `input.text`: its values, one a line.  Text that harnesses
    put in is a part with `synthetic`, or has the reason as `metadata.machine`.
    """
    made: TrajectoryMessage = {
        "role": message.role,
        "id": message.id,
        "sessionID": session,
        "agentID": message.agent,
        "agent": message.agent_name or message.agent,
        "time": {"created": message.at},
        "created": message.at,
    }
    if message.role == "assistant":
        made |= {"modelID": message.model, "providerID": message.provider}
    elif message.model:
        made["model"] = {"providerID": message.provider, "modelID": message.model}
    made = {key: value for key, value in made.items() if value is not None}
    if message.usage:
        made |= _usage(message.usage)
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if part.id == f"error:{message.id}":
            made["error"] = {"name": part.body, "data": {"message": part.output}}
            continue
        for data in _part_records(part):
            own = {"id": part.id, "sessionID": session, "messageID": message.id}
            parts.append({**own, **data})
    return {**made, "parts": parts}


def _usage(usage: Usage) -> dict[str, Any]:
    tokens = {
        "input": usage.input or 0,
        "output": usage.output or 0,
        "reasoning": usage.reasoning or 0,
        "cache": {"read": usage.cache_read or 0, "write": usage.cache_write or 0},
    }
    return {"tokens": tokens} | ({} if usage.cost is None else {"cost": usage.cost})


def _part_records(part: Part) -> list[dict[str, Any]]:
    made = _tool(part) if _is_call(part) else _text(part)
    why = part.machine
    if why is Machine.SYNTHETIC:
        made["synthetic"] = True
    elif why is Machine.IGNORED:
        made["ignored"] = True
    elif why is not None:
        made["metadata"] = {**made.get("metadata", {}), "machine": str(why)}
    if not part.cut:
        return [made]
    # What a harness put inside somebody's text comes after it, as a part of its own.
    cut = {"id": f"{part.id}#cut", "type": "text", "text": part.cut, "synthetic": True}
    return [made, cut] if part.body or part.output else [{**cut, "id": part.id}]


def _is_call(part: Part) -> bool:
    return part.kind in (Kind.TOOL_INPUT, Kind.TOOL_OUTPUT, Kind.TOOL_ERROR)


def _text(part: Part) -> dict[str, Any]:
    kind = "reasoning" if part.kind is Kind.REASONING else "text"
    return {"type": kind, "text": part.body, "time": {"start": part.at}}


def _tool(part: Part) -> dict[str, Any]:
    if part.tool == "patch" and not part.body:
        return {"type": "patch", "files": part.output.split("\n")}
    if part.tool is None:
        error = {"name": part.body, "data": {"message": part.output}}
        return {"type": "retry", "error": error, "time": {"created": part.at}}
    first, _, rest = part.body.partition("\n")
    given = rest if first == part.tool else part.body
    state: dict[str, Any] = {"status": part.status or "completed"}
    state["input"] = {"text": given} if given else {}
    if part.kind is Kind.TOOL_ERROR:
        state |= {"status": "error", "error": part.output}
        if part.status == "interrupted":
            state["metadata"] = {"interrupted": True}
    elif part.kind is Kind.TOOL_OUTPUT:
        state |= {"status": "completed", "output": part.output}
    elif part.status not in PENDING:
        state["status"] = "running"
    if part.status != "pending":
        state["time"] = {"start": part.at}
    return {"type": "tool", "callID": part.id, "tool": part.tool, "state": state}
