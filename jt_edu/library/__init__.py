"""Library: kernels for a device, operator by operator, from a package that jt_edu does not know."""

from jt_edu.library.registry import Library, register_backend

__all__ = ["Library", "register_backend"]
