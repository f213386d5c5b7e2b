/**
 * Grid: what is to be placed, and what is joined to what?
 *
 *     box      0   1   2   3   4       cards, frames and ports; after them the lanes, here one
 *     rank     0   0   1   2   1
 *     order    0   1 | 2   4 | 3       the boxes, row after row; starts: 0 2 4 5
 *
 *     way      0   1   2   3           from a box down to one in the next rank; a link is a chain of ways:
 *     upper    0   1   4   2           here 0-2, 1-4-3 and 2-3; chains: 0 1 3 4
 *     lower    2   4   3   3
 *
 * The same boxes, rows and neighbours as in jt_edu/draw/layout.py. There, each box and each neighbour is an object.
 * Here, a large graph would keep the garbage collector as busy with them as all sweeps are; so each property is a list
 * of numbers, and a box, or a way, is its place in these lists. Nothing here moves anything.
 */

import { shelved } from "./shelves.js";

/** @typedef {import("./layout.js").Link} Link */
/** The ways of each box on one side; and of each way the box that it leads to, where it meets its axis, and mine.
 * @typedef {import("./shelves.js").Shelves & {box: Int32Array, there: Float64Array, here: Float64Array}} Side */

export const LANE = 7; // half the width of a lane
const GUTTER = 12; // the same to the left of a lane that keeps to the side
const SIDE = 0.6; // places: to the right of what it passes, to the left of the next

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
        this.lane = false; // as narrow as a line
        this.x = 0;
        this.y = 0;
        this.number = 0; // in the lists of the grid
    }
}

/** Boxes, lanes and ways. */
export class Grid {
    /**
     * @param {readonly Box[]} boxes
     * @param {readonly Link[]} links
     */
    constructor(boxes, links) {
        const rows = numbered(boxes);
        this.chains = chainsOf(links); // the ways of link k stand from chains[k] to chains[k + 1]
        const ways = this.chains[links.length];
        const size = boxes.length + ways - links.length; // a lane below each way, but for the last of a link
        this.rank = new Int32Array(size);
        this.left = new Float64Array(size);
        this.right = new Float64Array(size);
        this.side = new Float64Array(size); // how many places further to the right than its neighbours it wants to be
        this.lane = new Uint8Array(size);
        this.first = new Uint8Array(size);
        this.x = new Float64Array(size);
        this.upper = new Int32Array(ways);
        this.lower = new Int32Array(ways);
        this.out = new Float64Array(ways); // where it begins, from the axis of its upper box
        this.into = new Float64Array(ways); // where it ends, from the axis of its lower box
        this.pull = new Float64Array(ways); // how much it wants to be straight
        this.link = new Int32Array(ways);
        boxes.forEach((box, k) => this.addBox(box, k));
        this.addLinks(links, boxes.length);
        const { starts, members } = shelved(this.rank, rows);
        this.starts = starts;
        this.order = members;
        this.place = new Int32Array(size); // within its row, while rows are sorted
        this.settle();
        /** @type {Side} */
        this.above = { ...shelved(this.lower, size), box: this.upper, there: this.out, here: this.into };
        /** @type {Side} */
        this.below = { ...shelved(this.upper, size), box: this.lower, there: this.into, here: this.out };
    }

    /** @returns {number} how many */
    get rows() {
        return this.starts.length - 1;
    }

    /** @param {Box} box @param {number} k */
    addBox(box, k) {
        this.rank[k] = box.rank;
        this.left[k] = box.left;
        this.right[k] = box.right;
        this.lane[k] = Number(box.lane);
        this.first[k] = Number(box.first);
    }

    /**
     * The chain of each link.
     *
     * Lanes want to be straight most of all, then the ways from box to box; what only begins or only ends gives way.
     * @param {readonly Link[]} links
     * @param {number} boxes how many there are; the numbers of lanes follow
     */
    addLinks(links, boxes) {
        const fed = new Uint8Array(boxes);
        const read = new Uint8Array(boxes);
        for (const { source, target } of links) {
            fed[target.number] = 1;
            read[source.number] = 1;
        }
        links.forEach((link, k) => {
            const pull = (fed[link.source.number] ? 1.0 : 0.02) * (read[link.target.number] ? 1.0 : 0.3);
            this.addChain(link, k, boxes + this.chains[k] - k, pull);
        });
    }

    /** @param {Link} link @param {number} k @param {number} lane the first number of its lanes @param {number} pull */
    addChain(link, k, lane, pull) {
        const [begin, last] = [this.chains[k], this.chains[k + 1] - 1];
        let upper = link.source.number;
        for (let way = begin; way < last; way += 1, lane += 1) {
            this.addLane(lane, this.rank[upper] + 1, link.gutter);
            this.addWay(way, k, upper, lane, pull);
            upper = lane;
        }
        this.addWay(last, k, upper, link.target.number, pull);
        this.out[begin] = link.out;
        this.into[last] = link.into ?? 0;
    }

    /** @param {number} lane @param {number} rank @param {boolean} gutter */
    addLane(lane, rank, gutter) {
        this.rank[lane] = rank;
        this.left[lane] = gutter ? GUTTER : LANE;
        this.right[lane] = LANE;
        this.side[lane] = gutter ? SIDE : 0;
        this.lane[lane] = 1;
    }

    /** @param {number} way @param {number} link @param {number} upper @param {number} lower @param {number} pull */
    addWay(way, link, upper, lower, pull) {
        const lanes = this.lane[upper] + this.lane[lower];
        this.link[way] = link;
        this.upper[way] = upper;
        this.lower[way] = lower;
        this.pull[way] = lanes === 2 ? 8.0 : pull * (lanes ? 0.002 : 1.0);
    }

    /**
     * Tell the boxes their places, after their order changed.
     * @param {number} [from] the first rank
     * @param {number} [to] the one after the last
     */
    settle(from = 0, to = this.rows) {
        for (let rank = from; rank < to; rank += 1) {
            for (let k = this.starts[rank]; k < this.starts[rank + 1]; k += 1) {
                this.place[this.order[k]] = k - this.starts[rank];
            }
        }
    }
}

/**
 * Number the boxes, and the ranks that are in use.
 * @param {readonly Box[]} boxes
 * @returns {number} how many ranks there are
 */
function numbered(boxes) {
    /** @type {Set<number>} */
    const found = new Set();
    boxes.forEach((box, k) => {
        box.number = k;
        found.add(box.rank);
    });
    const used = new Map([...found].sort((a, b) => a - b).map((rank, k) => [rank, k]));
    for (const box of boxes) {
        box.rank = Number(used.get(box.rank));
    }
    return used.size;
}

/**
 * Where the chain of each link begins, in the list of all ways: a way for each rank that it goes down.
 * @param {readonly Link[]} links
 * @returns {Int32Array}
 */
function chainsOf(links) {
    const chains = new Int32Array(links.length + 1);
    links.forEach(({ source, target }, k) => {
        chains[k + 1] = chains[k] + Math.max(target.rank - source.rank, 1);
    });
    return chains;
}
