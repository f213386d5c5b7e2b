"""What a learner sees: real JupyterLab, real Chromium, real kernels."""
