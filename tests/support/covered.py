"""Which tests measure that all decisions are covered (tests/coverage-logic.ini). Measuring makes a test nearly twice as
slow, and most tests of the application only run what these have run before."""

import pytest

UNIT = "tests.unit."
ALSO = {
    "tests.api.test_agents",
    "tests.api.test_ascode_references",
    "tests.api.test_assistants",
    "tests.api.test_automations",
    "tests.api.test_deployments",
    "tests.api.test_healing",
    "tests.api.test_incidents",
    "tests.api.test_inlets",
    "tests.api.test_journals",
    "tests.api.test_maintenance",
    "tests.api.test_moment",
    "tests.api.test_monitors",
    "tests.api.test_monthly",
    "tests.api.test_oncall",
    "tests.api.test_plugins",
    "tests.api.test_scim",
    "tests.api.test_scim_attacks",
    "tests.api.test_scim_groups",
    "tests.api.test_snmp_monitors",
    "tests.api.test_status_settings",
    "tests.api.test_switching",
    "tests.api.test_teams",
    "tests.api.test_teams_sight",
    "tests.api.test_told_incidents",
    "tests.api.test_upgrading",
    "tests.engine.test_answer_links",
    "tests.engine.test_automations_schedule",
    "tests.engine.test_checking",
    "tests.engine.test_clock_steps",
    "tests.engine.test_clock_waits",
    "tests.engine.test_damage",
    "tests.engine.test_damage_in_use",
    "tests.engine.test_healing_act_now",
    "tests.engine.test_healing_anchor",
    "tests.engine.test_healing_armed",
    "tests.engine.test_healing_arms",
    "tests.engine.test_healing_causes",
    "tests.engine.test_healing_chaos",
    "tests.engine.test_healing_edges",
    "tests.engine.test_healing_ground",
    "tests.engine.test_healing_inlets",
    "tests.engine.test_healing_ledger",
    "tests.engine.test_healing_letter",
    "tests.engine.test_healing_lift",
    "tests.engine.test_healing_meaning",
    "tests.engine.test_healing_past_budgets",
    "tests.engine.test_healing_pipeline",
    "tests.engine.test_healing_predicting",
    "tests.engine.test_healing_problems",
    "tests.engine.test_healing_properties",
    "tests.engine.test_healing_replay",
    "tests.engine.test_healing_restraint",
    "tests.engine.test_healing_server",
    "tests.engine.test_healing_stakes",
    "tests.engine.test_healing_told_causes",
    "tests.engine.test_healing_told_ends",
    "tests.engine.test_healing_wave_trials",
    "tests.engine.test_healing_waves",
    "tests.engine.test_healing_waves_shown",
    "tests.engine.test_healing_whatif",
    "tests.engine.test_measuring",
    "tests.engine.test_notify_document",
    "tests.engine.test_notify_told",
    "tests.engine.test_own_page_subscribers",
    "tests.engine.test_projections",
    "tests.engine.test_push_runs",
    "tests.engine.test_series_erasing",
    "tests.engine.test_series_folding",
    "tests.engine.test_series_journal",
    "tests.engine.test_series_running",
}


def is_measured(item):
    name = item.module.__name__
    return (name.startswith(UNIT) or name in ALSO) and not item.get_closest_marker("no_cover")


class Decisions:
    """A pytest plugin (`--measure decisions`): leaves out all other tests. Whether they pass, other runs say."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if not is_measured(item)])
        items[:] = [item for item in items if is_measured(item)]
