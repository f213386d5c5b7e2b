/**
 * Layout: where does each box stand, and which way does each line go?
 *
 *     rank 0    ( a )   ( b )   ( c )      the longest path that leads to a box gives its rank
 *     rank 1      [  mul  ]       |        a line that passes a rank keeps a lane there, so it crosses no box
 *     rank 2          [   add   ]
 *
 * The same loops as in jt_edu/draw/layout.py, with the same results: ranks; lanes, in grid.js; the order within a rank,
 * in order.js; x, in columns.js; y; the points of each line. Nothing here knows operators, colours or the page.
 */

import { columns, toTheLeft } from "./columns.js";
import { Box, Grid } from "./grid.js";
import { Isotonic } from "./isotonic.js";
import { order } from "./order.js";

export { LANE } from "./grid.js";

/** @typedef {[number, number]} Point */

const ENTRY = 14; // pixels between two lines that end at one box

/** A line from `source` down to `target`, through lanes. `points`: straight, bent, straight, bent, …, straight. */
export class Link {
    /**
     * @param {Box} source
     * @param {Box} target
     * @param {number} [out] where it begins, from the axis of its source
     * @param {number | null} [into] where it ends, from the axis of its target; null: wherever there is room
     * @param {boolean} [gutter] it passes what stands between at the right side
     */
    constructor(source, target, out = 0, into = null, gutter = false) {
        this.source = source;
        this.target = target;
        this.out = out;
        this.into = into;
        this.gutter = gutter;
        /** @type {Point[]} */
        this.points = [];
    }
}

/**
 * Give every box its x and y and every link its points. Returns width and height of it all.
 * @param {readonly Box[]} boxes
 * @param {readonly Link[]} links
 * @param {number} gap between two ranks
 * @returns {[number, number]}
 */
export function place(boxes, links, gap) {
    const grid = new Grid(boxes, links);
    order(grid);
    columns(grid);
    toTheLeft(grid);
    spread(grid, boxes, links);
    const { tops, bottoms } = down(grid, boxes, gap);
    boxes.forEach((box, k) => {
        box.x = grid.x[k];
    });
    links.forEach((link, k) => {
        link.points = pointsOf(grid, k, link, tops, bottoms);
    });
    let wide = -Infinity;
    grid.x.forEach((x, k) => {
        wide = Math.max(wide, x + grid.right[k]);
    });
    return [wide === -Infinity ? 0 : wide, grid.rows ? bottoms[grid.rows - 1] : 0];
}

/**
 * Where lines end at a box: as straight as possible, side by side.
 * @param {Grid} grid
 * @param {readonly Box[]} boxes
 * @param {readonly Link[]} links
 */
function spread(grid, boxes, links) {
    const { above, link, x } = grid;
    const begins = Float64Array.from(above.there, (out, way) => x[above.box[way]] + out);
    const room = new Isotonic(link.length);
    const arriving = new Int32Array(link.length);
    boxes.forEach((box, number) => {
        const count = wherever(grid, links, number, arriving);
        if (count > 1) {
            arriving.subarray(0, count).sort((a, b) => begins[a] - begins[b] || a - b);
        }
        const apart = Math.min(ENTRY, (2 * box.half) / count);
        const most = box.half - (apart * (count - 1)) / 2;
        for (let k = 0; k < count; k += 1) {
            room.wishes[k] = Math.min(Math.max(begins[arriving[k]] - x[number], -most), most);
            room.weights[k] = 1;
            room.gaps[k] = k ? apart : 0;
        }
        room.solve(0, count);
        for (let k = 0; k < count; k += 1) {
            links[link[arriving[k]]].into = room.found[k];
        }
    });
}

/**
 * The ways to a box that may end wherever there is room.
 * @param {Grid} grid
 * @param {readonly Link[]} links
 * @param {number} number of the box
 * @param {Int32Array} ways filled in here
 * @returns {number} how many they are
 */
function wherever({ above, link }, links, number, ways) {
    let count = 0;
    for (let at = above.starts[number]; at < above.starts[number + 1]; at += 1) {
        const way = above.members[at];
        if (links[link[way]].into === null) {
            ways[count] = way;
            count += 1;
        }
    }
    return count;
}

/**
 * y of every box, and top and bottom of every rank. A gap that lines cross far sideways is higher.
 * @param {Grid} grid
 * @param {readonly Box[]} boxes
 * @param {number} gap
 */
function down({ rows, rank, upper, lower, x }, boxes, gap) {
    const far = new Float64Array(rows);
    upper.forEach((box, way) => {
        far[rank[box]] = Math.max(far[rank[box]], Math.abs(x[box] - x[lower[way]]));
    });
    const heights = new Float64Array(rows);
    for (const box of boxes) {
        heights[box.rank] = Math.max(heights[box.rank], box.height);
    }
    const tops = new Float64Array(rows);
    const bottoms = new Float64Array(rows);
    for (let row = 0, y = 0; row < rows; row += 1) {
        tops[row] = y;
        bottoms[row] = y + heights[row];
        y += heights[row] + gap + Math.min(gap, far[row] * 0.08);
    }
    for (const box of boxes) {
        box.y = tops[box.rank] + (box.low ? heights[box.rank] - box.height : 0);
    }
    return { tops, bottoms };
}

/**
 * @param {Grid} grid
 * @param {number} k the number of the link
 * @param {Link} link
 * @param {Float64Array} tops
 * @param {Float64Array} bottoms
 * @returns {Point[]}
 */
function pointsOf({ chains, lower, rank, x }, k, { source, target, out, into }, tops, bottoms) {
    /** @type {Point[]} */
    const points = new Array(2 * (chains[k + 1] - chains[k]) + 2);
    points[0] = [source.x + out, source.y + source.height - source.inset - source.foot];
    points[1] = [source.x + out, bottoms[source.rank]];
    let at = 2;
    for (let way = chains[k]; way < chains[k + 1] - 1; way += 1, at += 2) {
        const lane = lower[way];
        points[at] = [x[lane], tops[rank[lane]]];
        points[at + 1] = [x[lane], bottoms[rank[lane]]];
    }
    const end = target.x + (into ?? 0);
    points[at] = [end, tops[target.rank]];
    points[at + 1] = [end, target.y + target.inset];
    return points;
}
