"""Course files: what does JupyterLab list in a checkout?

All that is there, except what the notebooks of the course are made from. `hide_globs`, Jupyter's own setting, knows
names only, and so would hide a learner's own folder named `source` too.

`jt_edu.lab` names this class to JupyterLab. Nothing else imports it.
"""

# mypy: disable-error-code="no-untyped-call"
# Jupyter's server is typed in part

from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

COURSE = "notebooks"
MADE_FROM = ("source", "build.py")


class CourseFiles(AsyncLargeFileManager):
    """Jupyter's files, without what the notebooks are made from.

    Example:
        >>> import asyncio, pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> for folder in ("notebooks/source", "notebooks/mine", "source"):
        ...     (root / folder).mkdir(parents=True)
        >>> listed = asyncio.run(CourseFiles(root_dir=str(root)).get("notebooks"))
        >>> [page["name"] for page in listed["content"]]
        ['mine']
    """

    async def get(self, path: str, *given: Any, **named: Any) -> dict[str, Any]:
        """A file, or what a folder holds."""
        found: dict[str, Any] = await super().get(path, *given, **named)
        if path.strip("/") == COURSE and found["content"]:
            found["content"] = [page for page in found["content"] if page["name"] not in MADE_FROM]
        return found
