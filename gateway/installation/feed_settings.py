"""The settings of the market data that `serve` is fed, and the form of a section of settings.

Not here: where values come from (`settings`).
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class SettingsSection(BaseModel):
    """A table of the settings file: frozen, without unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FeedSettings(SettingsSection):
    """The market data that `serve` is fed."""

    stale_after_s: float = Field(
        default=5.0,
        gt=0,
        le=3600,
        description="a quote is stale after this many seconds without one",
    )
    late_after_s: float = Field(
        default=2.0,
        gt=0,
        le=3600,
        description="a quote whose event time is older at its receipt is late, seconds",
    )
    bar_age_h: float = Field(
        default=120.0,
        gt=0,
        le=8760,
        description="bars of an instrument without a calendar are stale when the last closed so"
        " long ago, hours",
    )
    missed_sessions: int = Field(
        default=1,
        ge=0,
        le=20,
        description="bars are stale when more sessions of the instrument's calendar than this have"
        " closed without one",
    )
    wide_bp: int = Field(
        default=200,
        ge=1,
        le=20_000,
        description="a quote is too wide to use when ask less bid is more of their middle, basis"
        " points",
    )
    band_bp: int = Field(
        default=2_000,
        ge=1,
        le=100_000,
        description="a quote whose middle is further from the last close is not used, basis points;"
        " a policy of format 2 says it itself: four times `liquidity.move_max`",
    )
    mark_every_s: float = Field(
        default=60.0, ge=1, le=3600, description="time between marks of the holdings, seconds"
    )
    apart_bp: int = Field(
        default=50,
        ge=1,
        le=10_000,
        description="two sources whose prices are further apart contradict each other, basis"
        " points",
    )
    dsn: str | None = Field(
        default=None,
        description="PostgreSQL DSN of a login of its own for the table of bars, without rights in"
        " the ledger; none: the gateway's login keeps it",
    )
    files: Path | None = Field(
        default=None,
        description="TOML file with a [[source]] section for each file or folder that is followed"
        " as it grows; none: feeds deliver over the API alone",
    )
