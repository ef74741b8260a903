"""The order in which a tree is killed: leaves first, groups whole, no stranger."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snakepit_guard.kill_order import Step, kill_order
from snakepit_guard.process_table import Process

GUARD = Process(pid=10, parent=1, group=10, session=10, start=1)


def below(pid: int, parent: int, group: int = 0, zombie: bool = False) -> Process:
    """A process that leads a group and session of its own, or is in another's."""
    return Process(pid, parent, group or pid, group or pid, start=pid, zombie=zombie)


def shown(steps: list[Step]) -> list[tuple[str, int, int]]:
    return [(step.reach, step.process.pid, step.root) for step in steps]


def test_leaves_come_before_their_ancestors() -> None:
    worker, child, leaf = below(20, 10), below(21, 20, 20), below(22, 21, 20)
    assert shown(kill_order([worker, child, leaf], GUARD)) == [
        ("process", 22, 20),
        ("process", 21, 20),
        ("group", 20, 20),
    ]


def test_the_deepest_come_first_in_whichever_branch_they_are() -> None:
    worker, child, other = below(20, 10), below(21, 20, 20), below(30, 10)
    assert shown(kill_order([worker, child, other], GUARD)) == [
        ("process", 21, 20),
        ("group", 30, 30),
        ("group", 20, 20),
    ]


def test_a_daemon_dies_before_the_worker_that_started_it() -> None:
    worker, child, daemon = below(20, 10), below(21, 20, 20), below(30, 20)
    assert shown(kill_order([worker, child, daemon], GUARD)) == [
        ("group", 30, 20),
        ("process", 21, 20),
        ("group", 20, 20),
    ]


def test_a_group_whose_leader_is_dead_is_killed_through_its_other_members() -> None:
    worker, child = below(20, 10, zombie=True), below(21, 10, 20)
    assert shown(kill_order([worker, child], GUARD)) == [("group", 21, 21)]


def test_the_ancestors_of_a_process_are_reported_down_to_the_level_below_a_preloaded_parent() -> (
    None
):
    parent, worker = below(20, 10), below(30, 20)
    child, leaf = below(31, 30, 30), below(32, 31, 30)
    steps = kill_order([parent, worker, child, leaf], GUARD)
    assert {
        step.process.pid: [process.pid for process in step.below] for step in steps
    } == {20: [], 30: [20], 31: [30, 20], 32: [30, 20]}


def test_guards_further_in_do_not_count_as_ancestors() -> None:
    middle = Process(11, 10, group=10, session=10, start=11)
    inner = Process(12, 11, group=10, session=10, start=12)
    worker, child = below(20, 12), below(21, 20, 20)
    steps = kill_order([middle, inner, worker, child], GUARD)
    assert [
        [process.pid for process in step.below]
        for step in steps
        if step.process.pid in (20, 21)
    ] == [[20], []]


def test_the_guard_s_own_group_and_session_are_never_signalled() -> None:
    twin = below(11, 10, GUARD.group)
    unarmed = below(12, 10, GUARD.group)
    elsewhere = Process(13, 10, group=13, session=GUARD.session, start=1)
    steps = kill_order([twin, unarmed, elsewhere], GUARD)
    assert {step.reach for step in steps} == {"process"}


def test_a_spared_process_gets_no_signal_but_its_descendants_do() -> None:
    twin, worker = below(11, 10, GUARD.group), below(20, 11)
    assert shown(kill_order([twin, worker], GUARD, frozenset({11}))) == [
        ("group", 20, 11)
    ]


@st.composite
def trees(draw: st.DrawFn) -> list[Process]:
    """Processes below the guard, parents before children, some in the groups of others."""
    found: list[Process] = []
    for pid in range(100, 100 + draw(st.integers(0, 12))):
        parent = draw(st.sampled_from([GUARD.pid, *(each.pid for each in found)]))
        group = draw(
            st.sampled_from([pid, GUARD.group, *(each.group for each in found)])
        )
        found.append(
            Process(pid, parent, group, group, start=pid, zombie=draw(st.booleans()))
        )
    return found


@given(trees())
def test_every_living_process_is_killed_once_and_after_its_descendants(
    tree: list[Process],
) -> None:
    steps = kill_order(tree, GUARD)
    order = [step.process.pid for step in steps]
    living = [each for each in tree if not each.zombie]
    assert sorted(order) == [each.pid for each in living]
    for each in living:
        if each.parent in order:
            assert order.index(each.pid) < order.index(each.parent)
    groups = [step.process.group for step in steps if step.reach == "group"]
    expected = {each.group for each in living if each.group != GUARD.group}
    assert len(groups) == len(set(groups)) and set(groups) == expected
