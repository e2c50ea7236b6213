"""The graph that `langgraph.json` names: without checkpointer and store, since the server brings its own."""

import os

from graph.build import build_graph
from graph.models import models_from_environment
from graph.state import Settings
from tools import load_tools

graph = build_graph(
    tools=load_tools(os.environ.get("PLANRAIL_TOOLS", "tools.shop")),
    models=models_from_environment(),
    settings=Settings.of({"scheduling": os.environ.get("PLANRAIL_SCHEDULING", "layered")}),
)
