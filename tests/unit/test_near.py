"""`make near` runs what imports a change, and no more."""

import grimp
import pytest

from scripts.near import ALWAYS, ENOUGH, PACKAGES, near


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("risk/forms/money.py", "tests/unit/gateway/surfaces/web/test_gateway_web_money.py"),
        ("gateway/walk/dispatch.py", "tests/unit/gateway/walk/test_gateway_dispatch.py"),
        ("tests/doubles/raw_broker.py", "tests/integration/fix/session/test_fix_forgets.py"),
        ("tests/walk/test_walk_run.py", "tests/walk/test_walk_run.py"),
        ("audit/verifier/parts/trust/wire.py", "tests/unit/audit/verifier"),
        ("docs/operate.md", "tests/unit/test_documents.py"),
    ],
)
def test_what_imports_a_change_is_near(
    changed: str, expected: str, graph: grimp.ImportGraph
) -> None:
    assert expected in near([changed], graph)


def test_a_module_that_a_double_imports_is_tested_through_it(graph: grimp.ImportGraph) -> None:
    over = graph.find_modules_that_directly_import("gateway.walk.dispatch")
    found = near(["gateway/walk/dispatch.py"], graph)
    names = {one.removesuffix(".py").replace("/", ".") for one in found}
    assert names - over, "tests that use it by tests.doubles.small_desk"


def test_few_tests_over_a_module_bring_those_over_its_importers(graph: grimp.ImportGraph) -> None:
    assert len(near(["risk/forms/money.py"], graph)) >= ENOUGH


def test_a_whole_walk_is_far_unless_it_changed_itself(graph: grimp.ImportGraph) -> None:
    assert not any(
        one.startswith("tests/walk/") for one in near(["gateway/walk/dispatch.py"], graph)
    )


def test_what_nobody_imports_leaves_the_layout(graph: grimp.ImportGraph) -> None:
    assert near(["LICENSE", "gone.py"], graph) == [ALWAYS]
