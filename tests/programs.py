"""Programs that stand beside packages, such as those that write goldens."""

import importlib.util


def program_at(path):
    """The module that such a file is."""
    spec = importlib.util.spec_from_file_location("_".join(path.with_suffix("").parts[-3:]), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
