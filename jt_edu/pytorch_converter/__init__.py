"""PyTorch converter: the source of a PyTorch model becomes source for jt_edu, node by node of its syntax tree.

    from jt_edu.utils.pytorch_converter import convert

    print(convert(inspect.getsource(Net)))       # in a notebook, convert(...) alone also says why each line changed

What means something else here is written so that it means the same (`docs/where_we_differ.md`), and what has no
counterpart is refused, with its line. The text is never run.
"""

from jt_edu.pytorch_converter.converter import ConversionError, Converted, convert, pjmap_append

__all__ = ["ConversionError", "Converted", "convert", "pjmap_append"]
