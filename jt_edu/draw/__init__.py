"""Drawing: what does a graph look like, as a picture and as text?

A graph, from its document (`jt_edu.introspect.graph_document`):

    picture           what the learner holds
    text_metrics      widths of words, how shapes and bytes read, the table
    clusters          which nodes share a box that opens and closes: a module, a kernel, Block × 12
    node_boxes        what one box says
    visible_graph     which part of a document is drawn, and as what
    x_coordinates, layout
                      boxes and links to coordinates
    scene             where everything stands, inside each frame and between the frames
    svg, dot          the same as SVG, and for Graphviz
    theme             colours, lines and letters, in light and in dark

And what else a page holds (`jt_edu.lens`):

    chart, plot       numbers to places on axes, and those as SVG
    charts            the roofline, and how a training goes
    bars              the algorithms of a convolution, as bars that race
    lifetimes         arrays as rectangles: bytes over kernels
    tape              forward down the left, backward up the right
    lanes             ranks side by side, and how virtual times read
    svg_page          the paper that these three stand on

Everything is made from plain data that can be kept as JSON; nothing here looks at a Var or a node.
"""

from jt_edu.draw.picture import Picture

__all__ = ["Picture"]
