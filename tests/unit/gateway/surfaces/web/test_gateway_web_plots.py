import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from gateway.surfaces.web.views.plots import Caption, Fan, Line, fan_chart, fan_range, line_plot

SVG = "{http://www.w3.org/2000/svg}"
CAPTION = Caption(key="k", title="<b>Closes</b>", desc="a & b")
FAN = Fan(
    past=(100.0, 101.0, 99.5),
    bands=(
        (500, (97.0, 95.0)),
        (2500, (98.5, 98.0)),
        (5000, (99.6, 99.7)),
        (7500, (100.5, 101.5)),
        (9500, (102.0, 104.0)),
    ),
    actual=(98.0,),
    labels=("2018-01-01", "as of <x>", "+2 bars"),
)


def drawn(svg: str) -> ET.Element:
    text = str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ET.fromstring(text)  # noqa: S314 - our own output


def spots(element: ET.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.attrib["points"].split())
    return [(float(a), float(b)) for a, b in pairs]


def by_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in e.attrib.get("class", "").split()]


def test_a_plot_has_a_title_and_a_description_and_escapes_both() -> None:
    svg = fan_chart(FAN, CAPTION, fan_range(FAN))
    root = drawn(svg)
    assert root.findtext(f"{SVG}title") == "<b>Closes</b>"
    assert root.findtext(f"{SVG}desc") == "a & b"
    assert "<b>" not in svg
    assert "as of <x>" not in svg
    assert root.attrib["aria-labelledby"] == "k-title k-desc"


def test_a_plot_holds_no_script_style_or_address() -> None:
    svg = fan_chart(FAN, CAPTION, fan_range(FAN)).lower()
    assert not any(word in svg for word in ("<script", "style=", "href", "http", "onload", "url("))


def test_bands_start_at_the_last_known_close_and_widen() -> None:
    root = drawn(fan_chart(FAN, CAPTION, fan_range(FAN)))
    past = spots(by_class(root, "past")[0])
    for band in by_class(root, "band"):
        assert spots(band)[0] == past[-1]
    (actual,) = by_class(root, "actual")
    assert spots(actual)[0] == past[-1]
    assert len(spots(actual)) == 2
    assert len(by_class(root, "actual-dot")) == 1


def test_higher_prices_are_drawn_higher() -> None:
    root = drawn(fan_chart(FAN, CAPTION, fan_range(FAN)))
    ys = [y for _, y in spots(by_class(root, "past")[0])]
    assert ys[1] < ys[0] < ys[2]


def test_twins_on_one_axis_draw_equal_prices_at_equal_heights() -> None:
    wide = Fan(
        past=FAN.past, bands=((500, (80.0,)), (9500, (120.0,))), actual=(), labels=FAN.labels
    )
    limits = fan_range(FAN, wide)
    first = spots(by_class(drawn(fan_chart(FAN, CAPTION, limits)), "past")[0])
    second = spots(by_class(drawn(fan_chart(wide, CAPTION, limits)), "past")[0])
    assert [y for _, y in first] == [y for _, y in second]


def test_a_gap_breaks_a_line_instead_of_bridging_it() -> None:
    line = Line(name="x", values=(1.0, 2.0, None, 3.0, 4.0))
    root = drawn(line_plot((line,), CAPTION, labels=("a", "b")))
    assert [len(spots(e)) for e in by_class(root, "line")] == [2, 2]


def test_steps_hold_their_level_until_the_next_point() -> None:
    line = Line(name="x", values=(0.0, 10.0, 5.0))
    root = drawn(line_plot((line,), CAPTION, labels=("a", "b"), steps=True))
    for before, after in pairwise(spots(by_class(root, "line")[0])):
        assert before[0] == after[0] or before[1] == after[1]


@pytest.mark.parametrize(
    "values", [(), (None,), (0.0, 0.0), (5.0,), (-3.0, -3.0), (1e-9, 2e-9), (1e12, -1e12)]
)
def test_any_values_make_a_well_formed_plot(values: tuple[float | None, ...]) -> None:
    svg = line_plot((Line(name="x", values=values),), CAPTION, labels=("<", ">"), suffix=" &")
    assert "nan" not in svg
    drawn(svg)
