"""The views: their Python half without a browser, their pages in real Chromium."""
