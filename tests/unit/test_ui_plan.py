"""The table of pages: what every act that takes something away owes its reader."""

from opsapp.ui.builder import names_of
from opsapp.ui.plan import PAGES, forms_of
from opsapp.ui.plan.outcomes import OUTCOMES

# Acts beside which their page's template says what will happen, with what hangs on this very thing.
SAYS_ITSELF = {
    ("/monitors/{id}", "delete"), ("/agents/{id}", "delete"), ("/maintenance/{id}", "delete"),
    ("/notifications/channels/{id}", "delete"), ("/healing/rules/{rule_id}", "delete"),
    ("/healing/dependencies", "remove"),
}  # fmt: skip


def acts():
    for page in PAGES:
        for act in (*forms_of(page), *(act for part in page.parts for act in part.acts)):
            yield page, act


def test_what_takes_something_away_says_first_what_will_happen():
    silent = {(page.path, act.name) for page, act in acts() if act.grave and not act.warns and not act.fields}
    assert silent - SAYS_ITSELF == set()
    assert SAYS_ITSELF - silent == set(), "only what is needed is excepted"


def test_an_act_for_many_rows_has_one_name_for_the_row():
    assert [(page.path, act.name) for page, act in acts() if act.many and len(names_of(act)) != 1] == []
    assert [(page.path, act.name) for page, act in acts() if act.many and act.inputs] == []


def test_every_act_says_in_a_sentence_what_was_done():
    needed = {act.label for _, act in acts() if not (act.done or act.shows or act.tries)}
    assert needed - set(OUTCOMES) == set()
    assert set(OUTCOMES) - needed == set(), "no sentence is left over"


def inputs_of(fields):
    for field in fields:
        yield field
        yield from inputs_of(field.fields)


def test_what_can_only_be_one_of_a_few_is_ticked_and_not_typed_with_commas():
    typed = {(page.path, field.name) for page, act in acts() for field in inputs_of(act.fields)
             if field.kind == "list" and field.choices}  # fmt: skip
    assert typed == set()
