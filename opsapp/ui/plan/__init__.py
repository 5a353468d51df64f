"""What pages there are, in the order of the navigation. Without its API a page is not there either."""

from .automations import AUTOMATIONS
from .dependencies import DEPENDENCIES
from .deployments import DEPLOYMENTS
from .healing import HEALING
from .hosts import HOSTS
from .house import HOUSE
from .letter import LETTER
from .lists import FILTERS, forms_of, is_list
from .maintenance import MAINTENANCE
from .moment import MOMENTS
from .monitors import MONITORS
from .notifications import NOTIFICATIONS
from .oncall import ON_CALL
from .own import SETTINGS
from .problems import PROBLEMS
from .records import RECORDS
from .rules import RULES
from .shape import Act, Column, Field, Page, Part
from .statuspage import STATUS_PAGE
from .triage import APPROVALS, INCIDENTS, OVERVIEW

PAGES: tuple[Page, ...] = (
    OVERVIEW
    + MONITORS
    + INCIDENTS
    + ON_CALL
    + APPROVALS
    + HOSTS
    + MOMENTS
    + AUTOMATIONS
    + DEPLOYMENTS
    + MAINTENANCE
    + NOTIFICATIONS
    + DEPENDENCIES
    + HEALING
    + RECORDS
    + LETTER
    + PROBLEMS
    + RULES
    + HOUSE
    + SETTINGS
    + STATUS_PAGE
)
