"""What Claude Code sends when it resumes a transcript, one function for each step.

Observed on version 2.1.332, by resuming real and hand-made files against a stand-in for the API
(the files in tests/fixtures are those cases). The steps that make messages from the lines found
here, and repair them (merging, orphaned results, open calls), are the renderer's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.tree import Bridges, Node, index, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foldlog.eventstore.events import Json

ZERO_LEAF = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class LastPrompt:
    """The newest ``last-prompt`` line: where the program itself believes the conversation to be.

    Attributes:
        leaf: The uuid of that line; None when the line names none.
        explicit: It means exactly that line, not what hangs on it.
    """

    leaf: str | None
    explicit: bool = False


def last_prompt_of(line: Mapping[str, Json]) -> LastPrompt:
    """Read a ``last-prompt`` line; a leaf of zeros counts as none."""
    leaf = line.get("leafUuid")
    named = leaf if isinstance(leaf, str) and leaf != ZERO_LEAF else None
    return LastPrompt(named, line.get("explicit") is True)


def resume(nodes: Sequence[Node], last_prompt: LastPrompt | None = None) -> list[Node]:
    """Return the lines that a resume sends, in their order.

    Args:
        nodes: All nodes of the file, in file order.
        last_prompt: The newest ``last-prompt`` line.

    Returns:
        The lines from the last compaction (its summary first) to the leaf, with those that parallel
        calls left beside the chain. Lines that are not sent (progress, most system lines, API
        errors) are left out.
    """
    tree = index(nodes)
    parents = link(tree)
    tree, parents = apply_preserved(tree, parents)
    leaf = find_leaf(tree, parents, last_prompt)
    if leaf is None:
        return []
    chain = cut_at_boundary(walk(leaf, tree, parents))
    chain = bring_back(chain, tree, parents)
    return [node for node in chain if node.sent]


def link(tree: Mapping[str, Node]) -> dict[str, str | None]:
    """Step 2: the parent of each line; a parent that was never written is bridged."""
    parents: dict[str, str | None] = {}
    earlier = Bridges()
    for node in tree.values():
        is_whole = node.parent is None or node.parent in tree
        parents[node.uuid] = node.parent if is_whole else earlier.find(node)
        earlier.add(node)
    return parents


def apply_preserved(
    tree: dict[str, Node], parents: dict[str, str | None]
) -> tuple[dict[str, Node], dict[str, str | None]]:
    """Step 3: what the last compaction kept moves after it; all else before it goes.

    Nothing is done when the boundary keeps nothing, or when a kept line is not there.
    """
    boundary = _last_boundary(tree)
    if boundary is None:
        return tree, parents
    anchor, kept = preserved(boundary, tree, parents)
    if not kept:
        return tree, parents
    gone = _before(boundary, tree).difference(kept)
    tree = {uuid: node for uuid, node in tree.items() if uuid not in gone}
    parents = {uuid: parent for uuid, parent in parents.items() if uuid not in gone}
    for uuid, parent in parents.items():
        if parent == anchor and uuid not in kept:
            parents[uuid] = kept[-1]
    parents.update(zip(kept, [anchor, *kept[:-1]], strict=True))
    return tree, parents


def preserved(
    boundary: Node, tree: Mapping[str, Node], parents: Mapping[str, str | None]
) -> tuple[str | None, list[str]]:
    """Return the line that a boundary hangs what it kept on, and the uuids of what it kept.

    Newer versions list the uuids; older ones name the two ends of a segment.
    """
    metadata = boundary.preserved or {}
    listed = metadata.get("preservedMessages")
    if isinstance(listed, dict) and isinstance(listed.get("uuids"), list) and listed["uuids"]:
        kept = [*dict.fromkeys(map(str, listed["uuids"]))]
        return _anchor(listed), kept if all(uuid in tree for uuid in kept) else []
    segment = metadata.get("preservedSegment")
    if isinstance(segment, dict):
        head, tail = segment.get("headUuid"), segment.get("tailUuid")
        return _anchor(segment), _segment(head, tail, parents)
    return None, []


def _anchor(kept: Mapping[str, Json]) -> str | None:
    anchor = kept.get("anchorUuid")
    return anchor if isinstance(anchor, str) else None


def _segment(head: Json, tail: Json, parents: Mapping[str, str | None]) -> list[str]:
    """Return the uuids from head to tail, walked backwards; none when the walk misses the head."""
    kept: list[str] = []
    step = tail
    while isinstance(step, str) and step in parents and step not in kept:
        kept.append(step)
        if step == head:
            return kept[::-1]
        step = parents[step]
    return []


def _last_boundary(tree: Mapping[str, Node]) -> Node | None:
    boundaries = [node for node in tree.values() if node.is_boundary and not node.sidechain]
    return boundaries[-1] if boundaries else None


def _before(boundary: Node, tree: Mapping[str, Node]) -> set[str]:
    uuids = list(tree)
    return set(uuids[: uuids.index(boundary.uuid)])


def find_leaf(
    tree: Mapping[str, Node], parents: Mapping[str, str | None], last_prompt: LastPrompt | None
) -> Node | None:
    """Step 4: the tip of the conversation. A ``last-prompt`` overrides newer lines elsewhere."""
    named = tree.get(last_prompt.leaf or "") if last_prompt is not None else None
    if last_prompt is not None and named is not None:
        if last_prompt.explicit:
            return named
        below = descendants(named.uuid, parents)
        return _last_message(tree[uuid] for uuid in tree if uuid in below) or named
    newest = _last_message(tree.values())
    return newest and _later_descendant(newest, tree, parents)


def _last_message(nodes: Iterable[Node]) -> Node | None:
    messages = [node for node in nodes if node.is_conversation and not node.sidechain]
    return messages[-1] if messages else None


def _later_descendant(
    leaf: Node, tree: Mapping[str, Node], parents: Mapping[str, str | None]
) -> Node:
    """Return the newest line below the leaf, if it is later: a child may stand before its parent,
    and local commands, which are system lines, may follow the last message.
    """
    below = descendants(leaf.uuid, parents)
    own = seconds(leaf.timestamp)
    later = [
        node
        for node in tree.values()
        if node.uuid in below and not node.sidechain and seconds(node.timestamp) > own
    ]
    return max(later, key=lambda node: (seconds(node.timestamp), node.order), default=leaf)


def descendants(root: str, parents: Mapping[str, str | None]) -> set[str]:
    """Return the uuid itself and all that hangs on it, directly or not."""
    children = defaultdict(list)
    for uuid, parent in parents.items():
        children[parent].append(uuid)
    found = {root}
    open_ = [root]
    while open_:
        fresh = [uuid for uuid in children[open_.pop()] if uuid not in found]
        found.update(fresh)
        open_.extend(fresh)
    return found


def walk(leaf: Node, tree: Mapping[str, Node], parents: Mapping[str, str | None]) -> list[Node]:
    """Step 5: the chain from the root to the leaf. A cycle ends it."""
    chain: list[Node] = []
    seen: set[str] = set()
    uuid: str | None = leaf.uuid
    while uuid is not None and uuid in tree and uuid not in seen:
        seen.add(uuid)
        chain.append(tree[uuid])
        uuid = parents[uuid]
    return chain[::-1]


def cut_at_boundary(chain: list[Node]) -> list[Node]:
    """Step 5: what is before the last compaction boundary on the chain is not sent."""
    for position in range(len(chain) - 1, -1, -1):
        if chain[position].is_boundary:
            return chain[position:]
    return chain


def bring_back(
    chain: list[Node], tree: Mapping[str, Node], parents: Mapping[str, str | None]
) -> list[Node]:
    """Step 6: lines beside the chain that are blocks of a reply on it, and their results.

    Parallel calls fork the tree: each result hangs on its own call, and the next call on the one
    before. The blocks come in file order, the results after the last block.
    """
    on_chain = {node.uuid for node in chain}
    blocks, results = _beside(on_chain, tree, parents)
    last = {node.message_id: node for node in chain if node.message_id}
    restored: list[Node] = []
    for node in chain:
        waiting = blocks.get(node.message_id or "", [])
        while waiting and waiting[0].order < node.order:
            restored.append(waiting.pop(0))
        restored.append(node)
        if node.message_id and last[node.message_id] is node:
            restored += waiting
            restored += results.get(node.message_id, [])
    return restored


def _beside(
    on_chain: set[str], tree: Mapping[str, Node], parents: Mapping[str, str | None]
) -> tuple[dict[str, list[Node]], dict[str, list[Node]]]:
    """Return the blocks that are not on the chain, and the results, by message id."""
    blocks: dict[str, list[Node]] = defaultdict(list)
    results: dict[str, list[Node]] = defaultdict(list)
    for node in tree.values():
        if node.uuid in on_chain or node.sidechain:
            continue
        if node.message_id:
            blocks[node.message_id].append(node)
        elif node.results:
            call = tree.get(parents[node.uuid] or "")
            if call is not None and call.message_id:
                results[call.message_id].append(node)
    return blocks, results


Turn = tuple[str, tuple[str, ...]]
"""A role and the uuids of the lines that make the message, in the order they are sent."""


def turns(nodes: Iterable[Node]) -> list[Turn]:
    """Step 8: the messages that lines make, to compare two orders of lines by what they say.

    Lines of one reply are one message, across the results in between; user lines in a row are one
    message, results first, then attachments, then text.
    """
    messages: list[list[Node]] = []
    for node in nodes:
        if node.blank or node.is_boundary:
            continue
        home = _reply_of(node, messages) if node.type == "assistant" else _user_turn(messages)
        if home is None:
            messages.append([node])
        else:
            home.append(node)
    return [_turn(message) for message in messages]


def _reply_of(node: Node, messages: list[list[Node]]) -> list[Node] | None:
    """Return the message that an assistant line is a block of, if only results came in between."""
    for message in reversed(messages):
        if message[0].type == "assistant":
            same = node.message_id is not None and message[0].message_id == node.message_id
            return message if same else None
        if not all(other.only_results for other in message):
            return None
    return None


def _user_turn(messages: list[list[Node]]) -> list[Node] | None:
    return messages[-1] if messages and messages[-1][0].type != "assistant" else None


def _turn(message: list[Node]) -> Turn:
    if message[0].type == "assistant":
        return "assistant", tuple(node.uuid for node in message)
    results = [node for node in message if node.results]
    attached = [node for node in message if node.type == "attachment"]
    texts = [node for node in message if not node.results and node.type != "attachment"]
    return "user", tuple(node.uuid for node in (*results, *attached, *texts))
