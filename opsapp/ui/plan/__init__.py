"""What pages there are: one table, in the order of the navigation. Without its API a page is not there either."""

from .healing import HEALING
from .house import HOUSE
from .monitoring import INCIDENTS, MONITORS
from .operations import OPERATIONS
from .shape import Act, Column, Field, Page, Part

PAGES: tuple[Page, ...] = MONITORS + INCIDENTS + OPERATIONS + HEALING + HOUSE

__all__ = ["PAGES", "Act", "Column", "Field", "Page", "Part"]
