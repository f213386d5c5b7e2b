/**
 * Columns: how far to the right does each box of a rank stand?
 *
 *     wishes      a . . b c . .       b and c want to stand nearly at the same place
 *     positions   a . [ b ][ c ]      isotonic regression: as near to the wishes as order and distances allow
 *
 * Every box wishes to stand in the middle of its neighbours above and below. Then boxes that are each other's strongest
 * neighbour form a column, exactly one below the other. The same steps as in jt_edu/draw/columns.py, in the same order.
 */

const APART = 24; // pixels between two boxes of a rank
const SWEEPS = 10;

/** A neighbour; where the line meets its axis, and mine; how much it pulls.
 * @typedef {{box: Box, there: number, here: number, pull: number}} Near */
/** @typedef {Box[][]} Rows */

/** Something to place. `x` is its axis, where lines leave; it takes `left` and `right` of that, below `y`. */
export class Box {
    /**
     * @param {number} left
     * @param {number} right
     * @param {number} height
     */
    constructor(left, right, height) {
        this.left = left;
        this.right = right;
        this.height = height;
        this.half = 0; // lines may end this far from the axis
        this.inset = 0; // lines end this far inside its top, and begin this far inside its bottom
        this.foot = 0; // words stand this high below it, beside the lines that begin there
        this.rank = 0;
        this.low = false; // stands at the bottom of its rank
        this.first = false; // stands before all others of its rank
        this.side = 0; // how many places further to the right than its neighbours it wants to stand
        this.lane = false;
        this.place = 0;
        this.x = 0;
        this.y = 0;
        /** @type {Near[]} */
        this.above = [];
        /** @type {Near[]} */
        this.below = [];
        this.number = 0; // among all boxes, row after row
    }
}

/**
 * x of every box: as near to its neighbours as order and distances allow, then in columns.
 * @param {Rows} rows
 */
export function columns(rows) {
    const grid = new Grid(rows);
    grid.across();
    grid.straighten(rows);
    rows.flat().forEach((box, k) => {
        box.x = grid.x[k];
    });
}

/** All boxes, row after row, as plain lists of numbers: sweeps look at each of them many times. */
class Grid {
    /** @param {Rows} rows */
    constructor(rows) {
        let size = 0;
        this.starts = new Int32Array(rows.length + 1);
        rows.forEach((row, rank) => {
            for (const box of row) {
                box.number = size;
                size += 1;
            }
            this.starts[rank + 1] = size;
        });
        this.x = new Float64Array(size);
        this.gaps = new Float64Array(size);
        this.wishes = new Float64Array(size);
        this.weights = new Float64Array(size);
        this.blocks = { means: new Float64Array(size), totals: new Float64Array(size), members: new Int32Array(size) };
        this.sum = { total: 0, weight: 0 };
        this.above = new Neighbours(rows, size, (box) => box.above);
        this.below = new Neighbours(rows, size, (box) => box.below);
        rows.forEach((row, rank) => this.gaps.set(gapsOf(row), this.starts[rank]));
    }

    /** A sweep moves each rank as near to its neighbours as order and distances allow. */
    across() {
        const { starts, gaps, x } = this;
        for (let rank = 0; rank + 1 < starts.length; rank += 1) {
            for (let k = starts[rank], sum = 0; k < starts[rank + 1]; k += 1) {
                sum += gaps[k];
                x[k] = sum;
            }
        }
        for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
            for (let step = 1; step < starts.length; step += 1) {
                const rank = sweep % 2 === 0 ? step - 1 : starts.length - 1 - step;
                this.wish(rank, sweep);
                this.move(rank);
            }
        }
    }

    /**
     * Where the boxes of a rank would like to stand, and how much.
     * @param {number} rank
     * @param {number} sweep the last two listen to both sides
     */
    wish(rank, sweep) {
        const both = sweep >= SWEEPS - 2;
        const first = both || sweep % 2 === 0 ? this.above : this.below;
        const { sum } = this;
        for (let k = this.starts[rank]; k < this.starts[rank + 1]; k += 1) {
            sum.total = 0;
            sum.weight = 0;
            first.add(k, this.x, sum);
            if (both) {
                this.below.add(k, this.x, sum);
            }
            this.wishes[k] = sum.weight ? sum.total / sum.weight : this.x[k];
            this.weights[k] = sum.weight || 1e-6;
        }
    }

    /** @param {number} rank @returns {number} how far the farthest box moved */
    move(rank) {
        const [begin, end] = [this.starts[rank], this.starts[rank + 1]];
        const count = merge(this.wishes, this.weights, this.gaps, begin, end, this.blocks);
        const { means, members } = this.blocks;
        let farthest = 0;
        for (let block = 0, k = begin, offset = 0; block < count; block += 1) {
            for (let rest = members[block]; rest; rest -= 1, k += 1) {
                offset += this.gaps[k];
                const x = means[block] + offset;
                farthest = Math.max(farthest, Math.abs(x - this.x[k]));
                this.x[k] = x;
            }
        }
        return farthest;
    }

    /**
     * Boxes that pull most at each other form a column, and stand exactly below each other; the others make room.
     * @param {Rows} rows
     */
    straighten(rows) {
        const { x, wishes, weights } = this;
        const shifts = new Float64Array(x.length);
        const found = columnsOf(rows, shifts);
        for (let sweep = 0, moved = 1; sweep < SWEEPS && moved >= 0.2; sweep += 1) {
            for (const column of found) {
                let total = 0;
                for (const k of column) {
                    total += x[k] - shifts[k];
                }
                const middle = total / column.length;
                const weight = column.length > 1 ? column.length ** 2 : 1e-4;
                for (const k of column) {
                    wishes[k] = middle + shifts[k];
                    weights[k] = weight;
                }
            }
            moved = 0;
            for (let rank = 0; rank + 1 < this.starts.length; rank += 1) {
                moved = Math.max(moved, this.move(rank));
            }
        }
    }
}

/** The neighbours of all boxes on one side: those of box k stand from starts[k] to starts[k + 1]. */
class Neighbours {
    /**
     * @param {Rows} rows
     * @param {number} size
     * @param {(box: Box) => Near[]} side
     */
    constructor(rows, size, side) {
        this.starts = new Int32Array(size + 1);
        /** @type {number[]} */
        const numbers = [];
        /** @type {number[]} */
        const ways = [];
        for (const row of rows) {
            for (const box of row) {
                for (const near of side(box)) {
                    numbers.push(near.box.number);
                    ways.push(near.there, near.here, near.pull);
                }
                this.starts[box.number + 1] = numbers.length;
            }
        }
        this.numbers = Int32Array.from(numbers);
        this.ways = Float64Array.from(ways);
    }

    /**
     * Add up where the neighbours of a box would like it, and how much they pull.
     * @param {number} k
     * @param {Float64Array} x
     * @param {{total: number, weight: number}} sum
     */
    add(k, x, sum) {
        const { ways, numbers } = this;
        let { total, weight } = sum;
        for (let at = this.starts[k]; at < this.starts[k + 1]; at += 1) {
            const pull = ways[3 * at + 2];
            total += (x[numbers[at]] + ways[3 * at] - ways[3 * at + 1]) * pull;
            weight += pull;
        }
        sum.total = total;
        sum.weight = weight;
    }
}

/**
 * The numbers of the boxes of each column, from top to bottom.
 * @param {Rows} rows
 * @param {Float64Array} shifts how far each box stands to the right of the first of its column: filled in here
 * @returns {number[][]}
 */
function columnsOf(rows, shifts) {
    const seen = new Uint8Array(shifts.length);
    const found = [];
    for (const row of rows) {
        for (const box of row) {
            if (!seen[box.number]) {
                const column = columnBelow(box, shifts);
                column.forEach((k) => {
                    seen[k] = 1;
                });
                found.push(column);
            }
        }
    }
    return found;
}

/** @param {Box} box @param {Float64Array} shifts @returns {number[]} the column that begins with this box */
function columnBelow(box, shifts) {
    const column = [box.number];
    for (let best = heaviest(box.below); best && heaviest(best.box.above)?.box === box; best = heaviest(box.below)) {
        shifts[best.box.number] = shifts[box.number] + (best.here - best.there);
        box = best.box;
        column.push(box.number);
    }
    return column;
}

/**
 * The neighbour that pulls most, if it is one.
 * @param {Near[]} near
 * @returns {Near | null}
 */
function heaviest(near) {
    /** @type {Near | null} */
    let best = null;
    let alone = true;
    for (const one of near) {
        if (!best || one.pull > best.pull) {
            best = one;
            alone = true;
        } else if (one.pull === best.pull && one.box !== best.box) {
            alone = false;
        }
    }
    return alone ? best : null;
}

/**
 * Begin at x = 0. A box that stands first in its row stands at the left edge, or further left to make room.
 * @param {Rows} rows
 */
export function toTheLeft(rows) {
    let edge = leftmost(rows.map((row) => row.filter((box) => !box.first)));
    for (const row of rows) {
        if (row.length && row[0].first) {
            row[0].x = edge + row[0].left;
            if (row.length > 1) {
                row[0].x = Math.min(row[0].x, row[1].x - gapsOf(row)[1]);
            }
        }
    }
    edge = leftmost(rows);
    for (const row of rows) {
        for (const box of row) {
            box.x -= edge;
        }
    }
}

/** @param {Rows} rows @returns {number} */
function leftmost(rows) {
    let edge = Infinity;
    for (const row of rows) {
        for (const box of row) {
            edge = Math.min(edge, box.x - box.left);
        }
    }
    return edge === Infinity ? 0 : edge;
}

/**
 * Least distances between the axes of neighbours in a row; the first is from nowhere.
 * @param {readonly Box[]} row
 * @returns {number[]}
 */
function gapsOf(row) {
    return row.map((box, place) => {
        const before = row[place - 1];
        return before ? before.right + box.left + (before.lane || box.lane ? 0 : APART) : 0;
    });
}

/**
 * The positions nearest to the wishes (weighted least squares) that keep the order and the gaps.
 *
 * Neighbours that would come too close are merged into a block, which stands at the weighted mean of its wishes.
 * @param {readonly number[]} wishes
 * @param {readonly number[]} weights
 * @param {readonly number[]} gaps
 * @returns {number[]}
 */
export function isotonic(wishes, weights, gaps) {
    /** @type {Record<"means" | "totals" | "members", number[]>} */
    const blocks = { means: [], totals: [], members: [] };
    const count = merge(wishes, weights, gaps, 0, wishes.length, blocks);
    const found = [];
    for (let block = 0, offset = 0; block < count; block += 1) {
        for (let rest = blocks.members[block]; rest; rest -= 1) {
            offset += gaps[found.length];
            found.push(blocks.means[block] + offset);
        }
    }
    return found;
}

/**
 * Blocks of boxes that stand together, from `begin` to `end`: the mean of their wishes, and how many they are.
 * @param {ArrayLike<number>} wishes
 * @param {ArrayLike<number>} weights
 * @param {ArrayLike<number>} gaps
 * @param {number} begin
 * @param {number} end
 * @param {Record<"means" | "totals" | "members", number[] | Float64Array | Int32Array>} blocks filled in here
 * @returns {number} how many blocks there are
 */
function merge(wishes, weights, gaps, begin, end, { means, totals, members }) {
    let blocks = 0;
    let offset = 0;
    for (let k = begin; k < end; k += 1) {
        offset += gaps[k];
        let mean = wishes[k] - offset;
        let total = weights[k];
        let count = 1;
        for (; blocks && means[blocks - 1] >= mean; blocks -= 1) {
            const weight = totals[blocks - 1];
            mean = (means[blocks - 1] * weight + mean * total) / (weight + total);
            total = weight + total;
            count += members[blocks - 1];
        }
        means[blocks] = mean;
        totals[blocks] = total;
        members[blocks] = count;
        blocks += 1;
    }
    return blocks;
}
