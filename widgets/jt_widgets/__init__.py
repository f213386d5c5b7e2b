"""The Python half of the widgets: turns what jt_edu's trace recorded into JSON, and draws nothing itself."""
