"""Snapshots for a pair of codec 2 carry the scale in force; those of codec 1 are as before."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from gateway.feeds.scales import Scales, scales_for
from gateway.feeds.sessions import PlaybackSession, load_playback
from inference.codec.scaled import ScaledCodec
from inference.scale.fitted import ScaleFit
from inference.scale.fitting import FITTER
from inference.scale.schedule import FIT_MAX, quarter_start_us
from inference.snapshot import snapshot_document, snapshot_from_document
from tests.doubles.hourly_cases import hourly_snapshot

MODEL = Path("inference/models/pair_v1")


@cache
def played() -> tuple[PlaybackSession, ...]:
    """The first sessions of both instruments into April, with scales."""
    return tuple(replace(load_playback(), scales=Scales()).sessions(2 * 64))


def test_a_quarter_has_one_fit_of_bars_before_it() -> None:
    fits: dict[tuple[str, int], set[ScaleFit]] = {}
    for session in played():
        snapshot = session.snapshot
        fit, last = snapshot.scale, snapshot.bars[-1].close_time_us
        assert fit is not None
        assert fit.fitter == FITTER
        assert fit.n_returns == FIT_MAX
        assert fit.ranges is not None
        assert fit.fitted_us < quarter_start_us(last)
        fits.setdefault((session.instrument, quarter_start_us(last)), set()).add(fit)
    assert len(fits) == 2 * 3  # the first decision of 2018 has a last bar of 2017
    assert all(len(same) == 1 for same in fits.values())


def test_the_parameters_survive_the_record_and_make_the_same_prompt() -> None:
    codec = ScaledCodec()
    for session in played()[::50]:
        told = json.loads(json.dumps(snapshot_document(session.snapshot)))
        assert codec.encode(snapshot_from_document(told)) == codec.encode(session.snapshot)


def test_later_bars_change_no_fit() -> None:
    scales = Scales()
    snapshot = played()[0].snapshot
    start = quarter_start_us(snapshot.bars[-1].close_time_us)
    bent = [
        bar if bar.close_time_us < start else replace(bar, low_ticks=1) for bar in snapshot.bars
    ]
    bare = replace(snapshot, scale=None)
    assert bent != list(snapshot.bars)
    assert scales.on(bare, bent).scale == scales.on(bare, snapshot.bars).scale


def test_a_pair_of_codec_1_gets_no_scale() -> None:
    assert scales_for(MODEL) is None
    assert next(iter(load_playback().sessions(1))).snapshot.scale is None


def test_hourly_bars_get_the_sizes_of_their_hours_and_daily_ones_none() -> None:
    hourly = replace(hourly_snapshot(count=900, shown=901), scale=None)
    found = Scales().on(hourly, hourly.bars).scale
    assert found is not None
    assert found.season is not None
    assert len(found.season.usual) == 35
    assert all(s.snapshot.scale is not None and s.snapshot.scale.season is None for s in played())
