"""Choices: buttons of several pictures on one page do not disturb each other."""

import subprocess
import sys

from jt_edu.draw.choices import Choice, choices, fresh

PROGRAM = "from jt_edu.draw.choices import fresh; print(fresh('jt'))"


def test_the_first_button_is_picked_at_first_and_each_shows_its_own_part():
    html = choices(fresh("jt"), (10, 10), "<path/>", [Choice((2, 2), "a < b", "<g/>"), Choice((8, 2), "b", "")], "")

    assert html.count(" checked>") == 1 and html.rindex('value="0"') < html.index(" checked>") < html.rindex(
        'value="1"'
    )
    assert 'aria-label="a &lt; b"' in html and "<script" not in html


def test_pictures_have_names_of_their_own_also_those_of_two_processes_on_one_page():
    ask = [sys.executable, "-c", PROGRAM]
    said = [subprocess.run(ask, capture_output=True, text=True, check=True).stdout for _ in range(2)]

    assert said[0] != said[1] and fresh("jt") != fresh("jt")
