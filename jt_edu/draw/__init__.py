"""Drawing: what does a graph look like, as a picture and as text?

    picture   what the learner holds
    text      widths of words, how shapes and bytes read, the table
    layout    boxes and links to coordinates
    groups    which nodes share a box that opens and closes: a module, a kernel, Block × 12
    cards     what one box says
    view      which part of a document is drawn, and as what
    scene     where everything stands, inside of each frame and between the frames
    svg, dot  the same as SVG, and for Graphviz

Everything is made from one graph document, a plain dict that can be kept as JSON; nothing here looks at a graph itself.
"""

from jt_edu.draw.picture import Picture

__all__ = ["Picture"]
