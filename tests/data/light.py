"""Light: what tests of transforms share."""

LEVEL = 1 / 255  # of light: what two pixels that are neighbours in brightness differ by
