"""By what the writes that a record tells of are recognised in a later plan."""

from checkpoints import StepEntry
from graph.plan import call_digest


def written_digests(entry: StepEntry) -> set[str]:
    """The digest of the write that the record itself is, where it was one that happened."""
    tool = entry.fallback_tool or entry.tool
    if not entry.wrote or tool is None or not isinstance(entry.input, dict):
        return set()
    return {call_digest(tool, entry.input)}


def digests_before_fallback(entry: StepEntry) -> set[str]:
    """The digest of the write that the step's fallback followed, where it followed one."""
    done = entry.done_before_fallback
    digest = done.get("digest") if done is not None else None
    return {digest} if isinstance(digest, str) else set()
