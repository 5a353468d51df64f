"""Who is on call now and next, the schedules with their overrides, and whom an incident calls."""

from __future__ import annotations

from opsapp.oncall.records import PolicyRecord, ScheduleRecord
from opsapp.ui import parts
from opsapp.ui.shapes import oncall as shapes

from .shape import Act, Column, Field, Page, Part, delete, inputs, save, switches, told

CHANGE_POLICY = "PUT /api/oncall/policies/{id}"
STOP, START = switches(CHANGE_POLICY)
SCHEDULE, POLICY = inputs(ScheduleRecord), inputs(PolicyRecord)
OVERRIDE = (
    Field("user", "Who", "name", of="user", by="username", required=True),
    Field("start", "From", "moment", required=True),
    Field("end", "Until", "moment", required=True),
)

ON_CALL = (
    Page(
        "/oncall",
        "On call",
        (
            told(parts.ON_CALL, "/api/oncall/now", paged=True, begins="offset-now"),
            Part(
                "Who is called",
                "/api/oncall/policies",
                (Column("Policy", "name", link="/oncall/policies/{id}"), Column("Active", "enabled"),
                 Column("Severities", "severities"), Column("Tags", "tags"), Column("Repeats", "repeat")),
                name="policies",
                paged=True,
                empty="No policy: an incident calls nobody.",
            ),
            told(parts.ESCALATIONS, "/api/oncall/escalations?limit=20"),
        ),
        menu="On call",
        template="oncall.jinja2",
        shape=shapes.overview,
    ),
    Page(
        "/oncall/new",
        "Add a schedule",
        (),
        forms=(Act("create", "Add the schedule", "POST /api/oncall/schedules", SCHEDULE, goes="/oncall/schedules/{id}",
                   here=True, done="The schedule is added."),),
        template="oncall_form.jinja2",
        needs="POST /api/oncall/schedules",
    ),
    Page(
        "/oncall/policies/new",
        "Add a policy",
        (),
        forms=(Act("create", "Add the policy", "POST /api/oncall/policies", POLICY, goes="/oncall", here=True,
                   done="The policy is added."),),
        template="oncall_form.jinja2",
        needs="POST /api/oncall/policies",
    ),
    Page(
        "/oncall/schedules/{id}",
        "Schedule",
        (
            told(
                parts.SCHEDULE,
                "/api/oncall/schedules/{id}",
                acts=(
                    Act("override", "Add the override", "POST /api/oncall/schedules/{id}/overrides", OVERRIDE,
                        here=True, done="The override is added."),
                    save("PUT /api/oncall/schedules/{id}", SCHEDULE),
                    Act("calendar", "New calendar address", "POST /api/oncall/schedules/{id}/calendar", shows=True,
                        result="calendar_made.jinja2"),
                    Act("calendar_off", "Revoke the calendar address", "DELETE /api/oncall/schedules/{id}/calendar",
                        grave=True, warns="Programs that follow the calendar get no answer any more.",
                        done="The calendar's address is refused from now on."),
                    delete("/api/oncall/schedules/{id}", goes="/oncall",
                        warns="Nobody is on call by it any more, and its overrides are gone too. You can undo it for a "
                        "minute."),
                ),
            ),
            told(parts.SHIFTS, "/api/oncall/schedules/{id}/shifts"),
            Part(
                "Overrides",
                "/api/oncall/schedules/{id}",
                (Column("Who", "user"), Column("From", "start", "time"), Column("Until", "end", "time"),
                 Column("Made by", "created_by")),
                pick="overrides",
                name="overrides",
                empty="No override: the layers say who is on call.",
                acts=(Act("remove", "Remove", "DELETE /api/oncall/schedules/{schedule_id}/overrides/{id}",
                          grave=True, warns="The layers say again who is on call.", done="The override is removed."),),
            ),
        ),
        template="oncall_schedule.jinja2",
        shape=shapes.schedule,
    ),
    Page(
        "/oncall/policies/{id}",
        "Policy",
        (
            told(
                parts.POLICY,
                "/api/oncall/policies/{id}",
                acts=(
                    save(CHANGE_POLICY, POLICY),
                    STOP._replace(done="It calls nobody now."),
                    START._replace(done="It calls people from the next incident on."),
                    delete("/api/oncall/policies/{id}", goes="/oncall",
                        warns="Incidents do not call by it any more, nor those that call now. You can undo it for a "
                        "minute."),
                ),
            ),
            told(parts.SCHEDULES, "/api/oncall/schedules"),
        ),
        template="oncall_policy.jinja2",
        shape=shapes.policy,
    ),
)  # fmt: skip
