/**
 * Order: which box of a rank stands to the left of which?
 *
 *     a   b          a   b
 *       X      ->    |   |       each box goes to the mean place of its neighbours, row by row, down and up;
 *     c   d          d   c       kept is the order with the fewest crossings
 *
 * The same sweeps as in jt_edu/draw/layout.py. Nothing here knows pixels.
 */

/** @typedef {import("./grid.js").Grid} Grid */
/** @typedef {import("./grid.js").Side} Side */

const SWEEPS = 8;
const HAIR = 1e-4; // how far from its axis a line begins decides between equals

/**
 * Sweep down and up; keep the order with the fewest crossings. Two sweeps in vain are enough.
 * @param {Grid} grid
 */
export function order(grid) {
    const rows = new Rows(grid);
    let best = grid.order.slice();
    let fewest = rows.crossings();
    for (let sweep = 0, vain = 0; sweep < SWEEPS && fewest && vain < 2; sweep += 1) {
        rows.sweep(sweep % 2 === 0);
        const found = rows.crossings();
        vain += 1;
        if (found < fewest) {
            best = grid.order.slice();
            fewest = found;
            vain = 0;
        }
    }
    grid.order.set(best);
}

/** The rows of a grid, while they are sorted. */
class Rows {
    /** @param {Grid} grid */
    constructor(grid) {
        this.grid = grid;
        this.means = new Float64Array(grid.order.length);
        this.ways = grid.below.members.slice(); // of each box, from the left
        this.ends = new Float64Array(this.ways.length);
        this.spare = new Float64Array(this.ways.length);
    }

    /** Sort row by row, each by the one before. @param {boolean} downwards */
    sweep(downwards) {
        const { rows, above, below } = this.grid;
        for (let step = 0; step < rows; step += 1) {
            this.sort(downwards ? step : rows - 1 - step, downwards ? above : below);
        }
    }

    /** @param {number} rank @param {Side} side */
    sort(rank, side) {
        const { means } = this;
        const { starts, order, place } = this.grid;
        const [begin, end] = [starts[rank], starts[rank + 1]];
        let sorted = true;
        for (let k = begin; k < end && end - begin > 1; k += 1) {
            means[order[k]] = this.mean(order[k], side);
            sorted &&= k === begin || means[order[k - 1]] <= means[order[k]];
        }
        if (!sorted) {
            order.subarray(begin, end).sort((a, b) => means[a] - means[b] || place[a] - place[b]);
            this.grid.settle(rank, rank + 1);
        }
    }

    /** The mean place of the neighbours. @param {number} number of a box @param {Side} side @returns {number} */
    mean(number, { starts, members, box, there }) {
        const { first, place, side } = this.grid;
        const [begin, end] = [starts[number], starts[number + 1]];
        if (first[number] || begin === end) {
            return first[number] ? -1.0 : place[number];
        }
        let total = 0;
        for (let at = begin; at < end; at += 1) {
            total += place[box[members[at]]] + there[members[at]] * HAIR;
        }
        return total / (end - begin) + side[number];
    }

    /** How many pairs of lines cross: inversions among the lower ends, taken in the order of the upper ends. */
    crossings() {
        const { ends, spare, ways } = this;
        const { starts, order, below, rows } = this.grid;
        let total = 0;
        for (let rank = 0; rank < rows; rank += 1) {
            let count = 0;
            let sorted = true;
            for (let k = starts[rank]; k < starts[rank + 1]; k += 1) {
                const [begin, end] = [below.starts[order[k]], below.starts[order[k] + 1]];
                this.fromTheLeft(begin, end);
                for (let at = begin; at < end; at += 1, count += 1) {
                    ends[count] = this.end(ways[at]);
                    sorted &&= !count || ends[count - 1] <= ends[count];
                }
            }
            total += sorted ? 0 : inversions(ends.subarray(0, count), spare.subarray(0, count));
        }
        return total;
    }

    /**
     * Sort the ways that leave a box by where they begin, then by where they end.
     * @param {number} begin
     * @param {number} end
     */
    fromTheLeft(begin, end) {
        const { ways } = this;
        for (let at = begin + 1; at < end; at += 1) {
            if (this.compare(ways[at - 1], ways[at]) > 0) {
                ways.subarray(begin, end).sort((a, b) => this.compare(a, b));
                return;
            }
        }
    }

    /** @param {number} a @param {number} b @returns {number} more than 0 where way b stands to the left of way a */
    compare(a, b) {
        return this.grid.out[a] - this.grid.out[b] || this.end(a) - this.end(b);
    }

    /** @param {number} way @returns {number} in places */
    end(way) {
        return this.grid.place[this.grid.lower[way]] + this.grid.into[way] * HAIR;
    }
}

/**
 * How many pairs stand in the wrong order. Sorts the numbers, by merging runs that are in order already.
 * @param {Float64Array} numbers
 * @param {Float64Array} spare as many; both are written to
 * @returns {number}
 */
export function inversions(numbers, spare) {
    let total = 0;
    for (let width = 1; width < numbers.length; width *= 2) {
        for (let begin = 0; begin < numbers.length; begin += 2 * width) {
            const middle = Math.min(begin + width, numbers.length);
            const end = Math.min(middle + width, numbers.length);
            for (let a = begin, b = middle, to = begin; to < end; to += 1) {
                if (b === end || (a < middle && numbers[a] <= numbers[b])) {
                    spare[to] = numbers[a];
                    a += 1;
                } else {
                    total += middle - a;
                    spare[to] = numbers[b];
                    b += 1;
                }
            }
        }
        [numbers, spare] = [spare, numbers];
    }
    return total;
}
