"""The deny list: shapes that are refused whoever drafted them and whatever the target accepted.

Rules:
- An entry is one shape; what meets every number that it states has this shape.
- Every number is a floor: a higher one, or one number more, denies less.
- A new entry or number needs both officers' signatures and no code.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from risk.numbers.stated import Day, Name, PolicyModel, Text

Floor = Annotated[int, Field(ge=1, le=1_000_000_000)]


class DeniedShape(PolicyModel):
    """A shape of own open and withdrawn orders of one side, with the new order.

    Attributes:
        levels: Own price levels of this side in the instrument, of all accounts.
        growing: Of them, levels in a row from the touch outward, each with more lots than the last.
        growth_bp: By how much the lots grow at least in such a row, 1/10,000 of the level before.
        withdrawn: Orders of this side withdrawn unexecuted in the last half minute.
        larger_bp: Lots of this side's other levels, 1/10,000 of the new order's.
    """

    name: Name
    levels: Floor | None = None
    growing: Floor | None = None
    growth_bp: Floor | None = None
    withdrawn: Floor | None = None
    larger_bp: Floor | None = None
    owner: Text
    why: Text
    review_by: Day

    @model_validator(mode="after")
    def _states_something(self) -> Self:
        stated = (self.levels, self.growing, self.withdrawn, self.larger_bp)
        if all(one is None for one in stated):
            raise ValueError("a denied shape states levels, growing, withdrawn or larger_bp")
        if self.growth_bp is not None and self.growing is None:
            raise ValueError("growth_bp belongs to a shape that states growing")
        return self


class DeniedPath(PolicyModel):
    """A shape of a drafted trajectory: a sawtooth, dropped before anything reads it.

    Attributes:
        reversals: Bars in a row that each turn against the bar before.
        move_1e8: Log return of each of these bars at least, 1e-8, whatever its sign.
    """

    name: Name
    reversals: Floor
    move_1e8: Floor
    owner: Text
    why: Text
    review_by: Day


class DenyList(PolicyModel):
    """Denied shapes of orders and of trajectories; each name stands once."""

    shapes: tuple[DeniedShape, ...]
    paths: tuple[DeniedPath, ...]

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if not self.shapes and not self.paths:
            raise ValueError("a deny list names at least one shape; leave an empty one out")
        for entries in (self.shapes, self.paths):
            if len({one.name for one in entries}) != len(entries):
                raise ValueError("the deny list names a shape twice")
        return self
