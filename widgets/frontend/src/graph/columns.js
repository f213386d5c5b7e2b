/**
 * Columns: how far to the right does each box of a rank stand?
 *
 * Every box wishes to stand in the middle of its neighbours above and below. Then boxes that are each other's strongest
 * neighbour form a column, exactly one below the other. The same steps as in jt_edu/draw/x_coordinates.py, in the same
 * order.
 */

import { Isotonic } from "./isotonic.js";

/** @typedef {import("./grid.js").Grid} Grid */
/** @typedef {import("./grid.js").Side} Side */

const APART = 24; // pixels between two boxes of a rank
const SWEEPS = 10;

/**
 * x of every box: as near to its neighbours as order and distances allow, then in columns.
 * @param {Grid} grid
 */
export function columns(grid) {
    const sweeps = new Sweeps(grid);
    sweeps.across();
    sweeps.straighten();
}

/** Moves the boxes of a grid, row by row. */
class Sweeps {
    /** @param {Grid} grid */
    constructor(grid) {
        this.grid = grid;
        this.rows = new Isotonic(grid.order.length); // row after row, as in grid.order
        for (let rank = 0; rank < grid.rows; rank += 1) {
            for (let k = grid.starts[rank] + 1; k < grid.starts[rank + 1]; k += 1) {
                this.rows.gaps[k] = gapBefore(grid, k);
            }
        }
    }

    /** A sweep moves each rank as near to its neighbours as order and distances allow. */
    across() {
        const { rows, starts, order, x } = this.grid;
        for (let rank = 0; rank < rows; rank += 1) {
            for (let k = starts[rank], sum = 0; k < starts[rank + 1]; k += 1) {
                sum += this.rows.gaps[k];
                x[order[k]] = sum;
            }
        }
        for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
            for (let step = 0; step < rows; step += 1) {
                const rank = sweep % 2 === 0 ? step : rows - 1 - step;
                this.wish(rank, sweep);
                this.move(rank);
            }
        }
    }

    /**
     * Where the boxes of a rank would like to stand, and how much: the mean of where their neighbours are.
     * @param {number} rank
     * @param {number} sweep the last two listen to both sides
     */
    wish(rank, sweep) {
        const { starts, order, above, below, x } = this.grid;
        const { wishes, weights } = this.rows;
        const both = sweep >= SWEEPS - 2;
        for (let k = starts[rank]; k < starts[rank + 1]; k += 1) {
            wishes[k] = 0;
            weights[k] = 0;
            this.listen(k, both || sweep % 2 === 0 ? above : below);
            if (both) {
                this.listen(k, below);
            }
            wishes[k] = weights[k] ? wishes[k] / weights[k] : x[order[k]];
            weights[k] ||= 1e-6;
        }
    }

    /**
     * Add up where the neighbours of a box would like it, and how much they pull.
     * @param {number} k
     * @param {Side} side
     */
    listen(k, { starts, members, box, there, here }) {
        const { order, pull, x } = this.grid;
        const { wishes, weights } = this.rows;
        for (let at = starts[order[k]]; at < starts[order[k] + 1]; at += 1) {
            const way = members[at];
            wishes[k] += (x[box[way]] + there[way] - here[way]) * pull[way];
            weights[k] += pull[way];
        }
    }

    /** @param {number} rank @returns {number} how far the farthest box moved */
    move(rank) {
        const { starts, order, x } = this.grid;
        const { found } = this.rows;
        this.rows.solve(starts[rank], starts[rank + 1]);
        let farthest = 0;
        for (let k = starts[rank]; k < starts[rank + 1]; k += 1) {
            farthest = Math.max(farthest, Math.abs(found[k] - x[order[k]]));
            x[order[k]] = found[k];
        }
        return farthest;
    }

    /** Boxes that pull most at each other form a column, and stand exactly below each other; the others make room. */
    straighten() {
        const { rows, order, x } = this.grid;
        const { wishes, weights } = this.rows;
        const { column, shift, sizes } = columnsOf(this.grid);
        const totals = new Float64Array(sizes.length);
        for (let sweep = 0, moved = 1; sweep < SWEEPS && moved >= 0.2; sweep += 1) {
            totals.fill(0);
            for (const box of order) {
                totals[column[box]] += x[box] - shift[box];
            }
            for (let k = 0; k < order.length; k += 1) {
                const [box, size] = [order[k], sizes[column[order[k]]]];
                wishes[k] = totals[column[box]] / size + shift[box];
                weights[k] = size > 1 ? size ** 2 : 1e-4;
            }
            moved = 0;
            for (let rank = 0; rank < rows; rank += 1) {
                moved = Math.max(moved, this.move(rank));
            }
        }
    }
}

/**
 * The column of each box, how far it stands to the right of the first of that column, and how many each column has.
 * @param {Grid} grid
 */
function columnsOf(grid) {
    const { order, below, above } = grid;
    const column = new Int32Array(order.length).fill(-1);
    const shift = new Float64Array(order.length);
    const sizes = [];
    for (let box of order) {
        if (column[box] >= 0) {
            continue;
        }
        let size = 1;
        column[box] = sizes.length;
        for (let way = heaviest(grid, below, box); way >= 0; way = heaviest(grid, below, box)) {
            const lower = below.box[way];
            if (heaviest(grid, above, lower) !== way) {
                break;
            }
            shift[lower] = shift[box] + (below.here[way] - below.there[way]);
            column[lower] = sizes.length;
            box = lower;
            size += 1;
        }
        sizes.push(size);
    }
    return { column, shift, sizes };
}

/**
 * The way to the neighbour that pulls most; -1 where there is none, or where two pull alike.
 * @param {Grid} grid
 * @param {Side} side
 * @param {number} number of a box
 * @returns {number}
 */
function heaviest({ pull }, { starts, members, box }, number) {
    let best = -1;
    let alone = true;
    for (let at = starts[number]; at < starts[number + 1]; at += 1) {
        const way = members[at];
        if (best < 0 || pull[way] > pull[best]) {
            best = way;
            alone = true;
        } else if (pull[way] === pull[best] && box[way] !== box[best]) {
            alone = false;
        }
    }
    return alone ? best : -1;
}

/**
 * Begin at x = 0. A box that stands first in its row stands at the left edge, or further left to make room.
 * @param {Grid} grid
 */
export function toTheLeft(grid) {
    const { rows, starts, order, first, left, x } = grid;
    let edge = leftmost(grid, (box) => !first[box]);
    for (let rank = 0; rank < rows; rank += 1) {
        const box = order[starts[rank]];
        if (first[box]) {
            const next = starts[rank] + 1;
            const room = next < starts[rank + 1] ? x[order[next]] - gapBefore(grid, next) : Infinity;
            x[box] = Math.min(edge + left[box], room);
        }
    }
    edge = leftmost(grid, () => true);
    for (let box = 0; box < x.length; box += 1) {
        x[box] -= edge;
    }
}

/** @param {Grid} grid @param {(box: number) => boolean} counts @returns {number} */
function leftmost({ x, left }, counts) {
    let edge = Infinity;
    for (let box = 0; box < x.length; box += 1) {
        if (counts(box)) {
            edge = Math.min(edge, x[box] - left[box]);
        }
    }
    return edge === Infinity ? 0 : edge;
}

/** Least distance between the axes of a box and the one before it in its row. @param {Grid} grid @param {number} k */
function gapBefore({ order, left, right, lane }, k) {
    const [before, box] = [order[k - 1], order[k]];
    return right[before] + left[box] + (lane[before] || lane[box] ? 0 : APART);
}
