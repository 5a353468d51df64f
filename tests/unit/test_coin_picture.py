"""The guide's picture of the coin is what the engine decides today, and the guide's words are those of the picture."""

from tests.support.coin_picture import CHANGED, PICTURE, lived, moments, picture


def test_the_picture_is_what_the_engine_decides():
    assert PICTURE.read_text() == picture(), "write it anew: python -m tests.support.coin_picture"


def test_the_guide_tells_the_pictures_numbers():
    earned, lost = moments(lived())
    told = " ".join((PICTURE.parents[1] / "guide/healing.md").read_text().split())
    assert f"after {earned + 1} outages" in told
    assert f"{lost - CHANGED + 1} outages later" in told
