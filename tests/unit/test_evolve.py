"""Steps of the store: what a commit relies on while another node may evolve it."""

from types import SimpleNamespace

from opsapp.tree import evolve
from opsapp.tree.root import Root


def test_a_commit_relies_on_the_list_of_steps_where_there_is_one():
    root, read = Root(), []
    root._p_jar = SimpleNamespace(readCurrent=read.append, register=lambda changed: None)
    evolve.read_current(root)
    assert read == [], "no step has run yet"
    evolve.evolve_next({evolve.KEY: root}, [])
    evolve.read_current(root)
    assert read == [root.system[evolve.EVOLVED]]
