"""planrail's graph: the plan language, the state, the edges and the StateGraph that joins the nodes.

Attributes load on first use: `nodes` imports `graph.plan` and `graph.state`, and an eager import of
`graph.build` here would close that into a circle.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.build import build_graph
    from graph.running import PlanrailGraph

_LAZY = {"build_graph": "graph.build", "PlanrailGraph": "graph.running"}

__all__ = ["PlanrailGraph", "build_graph"]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'graph' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
