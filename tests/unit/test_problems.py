"""What a refusal says: the first 50 fields by name, the number of the others; and what may have been done."""

from opsapp.lib.problems import Invalid, OutcomeUnknown


def test_few_fields_are_all_named():
    problem = Invalid({"b": "is required", "a": "must be a string"})
    assert problem.message == "Some values are not valid: a, b"
    assert Invalid({"a": "is required"}, "No.").message == "No."


def test_many_fields_are_counted():
    problem = Invalid({f"k{n:03}": "is not known here" for n in range(60)})
    assert list(problem.by_field()) == [f"k{n:03}" for n in range(50)]
    assert problem.message.startswith("Some values are not valid: k000, k001, ")
    assert problem.message.endswith(", k049 and 10 more")


def test_many_entries_of_one_list_are_counted_too():
    problem = Invalid({f"tags.{n}": "must be a string" for n in range(51)})
    assert set(problem.by_field()) == {"tags"}
    assert problem.by_field()["tags"].count("entry ") == 50
    assert problem.message == "Some values are not valid: tags and 1 more"


def test_a_save_that_broke_off_is_not_called_lost():
    problem = OutcomeUnknown()
    assert (problem.code, problem.details) == ("outcome_unknown", {"retry_after": 2})
    assert problem.message.endswith("check whether the change is there.")
