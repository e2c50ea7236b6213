"""The demo shop: real tools on a small SQLite database.

`TOOLS` follows the environment at the moment it is read; see `tools_from_environment`.
"""

from tools.shop.database import Shop, open_shop
from tools.shop.toolset import shop_tools, tools_from_environment

__all__ = ["Shop", "open_shop", "shop_tools", "tools_from_environment"]


def __getattr__(name: str) -> object:
    if name == "TOOLS":
        return tools_from_environment()
    raise AttributeError(f"module 'tools.shop' has no attribute {name!r}")
