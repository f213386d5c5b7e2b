"""Tests mirror the house: story (read these first), floors, parity, house, browser."""
