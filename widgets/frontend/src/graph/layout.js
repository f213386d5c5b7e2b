/**
 * Layout: where does each box stand, and which way does each line go?
 *
 *     rank 0    ( a )   ( b )   ( c )      the longest path that leads to a box gives its rank
 *     rank 1      [  mul  ]       |        a line that passes a rank keeps a lane there, so it crosses no box
 *     rank 2          [   add   ]
 *
 * The same loops as in jt_edu/draw/layout.py, with the same results: ranks; lanes; the order within a rank; x, in
 * columns.js; y; the points of each line. Nothing here knows operators, colours or the page.
 */

import { Box, columns, isotonic, toTheLeft } from "./columns.js";

export { ranks } from "./ranks.js";

/** @typedef {import("./columns.js").Near} Near */
/** @typedef {import("./columns.js").Rows} Rows */
/** @typedef {[number, number]} Point */

const SWEEPS = 8;
export const LANE = 7; // half the width of a lane
const GUTTER = 12; // the same to the left of a lane that keeps to the side
const SIDE = 0.6; // places: to the right of what it passes, to the left of the next
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
    const rows = rowsOf(boxes);
    const chains = chainsOf(links, rows);
    order(rows);
    columns(rows);
    toTheLeft(rows);
    spread(links, chains);
    const { tops, bottoms } = down(rows, chains, gap);
    links.forEach((link, k) => {
        link.points = pointsOf(link, chains[k], tops, bottoms);
    });
    let wide = -Infinity;
    for (const row of rows) {
        for (const box of row) {
            wide = Math.max(wide, box.x + box.right);
        }
    }
    return [wide === -Infinity ? 0 : wide, rows.length ? bottoms[rows.length - 1] : 0];
}

/** @param {readonly Box[]} boxes @returns {Rows} the ranks that are in use, counted from 0 */
function rowsOf(boxes) {
    const found = [...new Set(boxes.map((box) => box.rank))].sort((a, b) => a - b);
    const used = new Map(found.map((rank, k) => [rank, k]));
    /** @type {Rows} */
    const rows = found.map(() => []);
    for (const box of boxes) {
        box.rank = Number(used.get(box.rank));
        rows[box.rank].push(box);
    }
    return rows;
}

/**
 * The boxes that each link passes; the lanes among them are put into their rows.
 *
 * Lanes want to be straight most of all, then the ways from box to box; what only begins or only ends gives way.
 * @param {readonly Link[]} links
 * @param {Rows} rows
 * @returns {Box[][]}
 */
function chainsOf(links, rows) {
    const fed = new Set(links.map((link) => link.target));
    const read = new Set(links.map((link) => link.source));
    return links.map((link) => {
        const pull = (fed.has(link.source) ? 1.0 : 0.02) * (read.has(link.target) ? 1.0 : 0.3);
        const chain = [link.source];
        for (let rank = link.source.rank + 1; rank < link.target.rank; rank += 1) {
            chain.push(lane(rank, rows, link.gutter));
        }
        chain.push(link.target);
        tie(link, chain, pull);
        return chain;
    });
}

/** @param {number} rank @param {Rows} rows @param {boolean} gutter @returns {Box} */
function lane(rank, rows, gutter) {
    const box = new Box(gutter ? GUTTER : LANE, LANE, 0);
    box.side = gutter ? SIDE : 0;
    box.rank = rank;
    box.lane = true;
    rows[rank].push(box);
    return box;
}

/**
 * The boxes of a chain become neighbours.
 * @param {Link} link
 * @param {Box[]} chain
 * @param {number} pull
 */
function tie(link, chain, pull) {
    for (let k = 1; k < chain.length; k += 1) {
        const upper = chain[k - 1];
        const lower = chain[k];
        const out = upper === link.source ? link.out : 0;
        const into = lower === link.target ? (link.into ?? 0) : 0;
        const weight = upper.lane && lower.lane ? 8.0 : pull * (upper.lane || lower.lane ? 0.002 : 1.0);
        lower.above.push({ box: upper, there: out, here: into, pull: weight });
        upper.below.push({ box: lower, there: into, here: out, pull: weight });
    }
}

/**
 * Sweep down and up; keep the order with the fewest crossings. Two sweeps in vain are enough.
 * @param {Rows} rows
 */
function order(rows) {
    rows.forEach(numbered);
    let best = rows.map((row) => [...row]);
    let fewest = crossings(rows);
    for (let sweep = 0, vain = 0; sweep < SWEEPS && fewest && vain < 2; sweep += 1) {
        for (let step = 0; step < rows.length; step += 1) {
            sorted(rows[sweep % 2 === 0 ? step : rows.length - 1 - step], sweep % 2 === 0);
        }
        const found = crossings(rows);
        vain += 1;
        if (found < fewest) {
            best = rows.map((row) => [...row]);
            fewest = found;
            vain = 0;
        }
    }
    best.forEach((row, rank) => {
        rows[rank] = row;
        numbered(row);
    });
}

/** @param {Box[]} row */
function numbered(row) {
    row.forEach((box, place) => {
        box.place = place;
    });
}

/** @param {Box[]} row @param {boolean} byAbove */
function sorted(row, byAbove) {
    if (row.length < 2) {
        return;
    }
    const means = row.map((box) => mean(box, byAbove ? box.above : box.below));
    if (means.some((one, k) => k && means[k - 1] > one)) {
        row.sort((a, b) => means[a.place] - means[b.place]);
        numbered(row);
    }
}

/**
 * The mean place of the neighbours; how far from their axis a line begins decides between equals.
 * @param {Box} box
 * @param {Near[]} neighbours
 */
function mean(box, neighbours) {
    if (box.first || !neighbours.length) {
        return box.first ? -1.0 : box.place;
    }
    let total = 0;
    for (const near of neighbours) {
        total += near.box.place + near.there * 1e-4;
    }
    return total / neighbours.length + box.side;
}

/**
 * How many pairs of lines cross: inversions among the lower ends, taken in the order of the upper ends.
 * @param {Rows} rows
 */
function crossings(rows) {
    let total = 0;
    for (const row of rows) {
        /** @type {number[]} */
        const ends = [];
        let order = true;
        for (const box of row) {
            for (const { box: lower, there } of fromTheLeft(box.below)) {
                const end = lower.place + there * 1e-4;
                order &&= !ends.length || ends[ends.length - 1] <= end;
                ends.push(end);
            }
        }
        total += order ? 0 : inversions(ends);
    }
    return total;
}

/** @param {Near[]} below @returns {Near[]} in the order in which they begin, then end */
function fromTheLeft(below) {
    return below.some((near, k) => k && fromLeft(below[k - 1], near) > 0) ? [...below].sort(fromLeft) : below;
}

/** @param {Near} a @param {Near} b */
function fromLeft(a, b) {
    return a.here - b.here || a.box.place + a.there * 1e-4 - (b.box.place + b.there * 1e-4);
}

/**
 * How many pairs stand in the wrong order. Sorts the numbers, by merging runs that are in order already.
 * @param {number[]} numbers
 * @returns {number}
 */
export function inversions(numbers) {
    let total = 0;
    for (let width = 1; width < numbers.length; width *= 2) {
        const next = [];
        for (let from = 0; from < numbers.length; from += 2 * width) {
            const middle = Math.min(from + width, numbers.length);
            const end = Math.min(middle + width, numbers.length);
            let [a, b] = [from, middle];
            while (a < middle || b < end) {
                if (b === end || (a < middle && numbers[a] <= numbers[b])) {
                    next.push(numbers[a]);
                    a += 1;
                } else {
                    total += middle - a;
                    next.push(numbers[b]);
                    b += 1;
                }
            }
        }
        numbers = next;
    }
    return total;
}

/**
 * Where lines end at a box: as straight as possible, side by side.
 * @param {readonly Link[]} links
 * @param {Box[][]} chains
 */
function spread(links, chains) {
    /** @type {Map<Box, {x: number, link: Link}[]>} */
    const entries = new Map();
    links.forEach((link, k) => {
        const before = chains[k][chains[k].length - 2];
        if (link.into === null) {
            const arriving = entries.get(link.target) ?? [];
            arriving.push({ x: before.x + (before === link.source ? link.out : 0), link });
            entries.set(link.target, arriving);
        }
    });
    for (const [box, arriving] of entries) {
        if (arriving.length === 1) {
            arriving[0].link.into = Math.min(Math.max(arriving[0].x - box.x, -box.half), box.half);
            continue;
        }
        arriving.sort((a, b) => a.x - b.x);
        const apart = Math.min(ENTRY, (2 * box.half) / arriving.length);
        const room = box.half - (apart * (arriving.length - 1)) / 2;
        const wishes = arriving.map(({ x }) => Math.min(Math.max(x - box.x, -room), room));
        const even = wishes.map(() => 1);
        const ends = isotonic(wishes, even, wishes.map((_, k) => (k ? apart : 0)));
        arriving.forEach(({ link }, k) => {
            link.into = ends[k];
        });
    }
}

/**
 * y of every box, and top and bottom of every rank. A gap that lines cross far sideways is higher.
 * @param {Rows} rows
 * @param {Box[][]} chains
 * @param {number} gap
 */
function down(rows, chains, gap) {
    const far = rows.map(() => 0);
    for (const chain of chains) {
        for (let k = 1; k < chain.length; k += 1) {
            const upper = chain[k - 1];
            far[upper.rank] = Math.max(far[upper.rank], Math.abs(upper.x - chain[k].x));
        }
    }
    /** @type {number[]} */
    const tops = [];
    /** @type {number[]} */
    const bottoms = [];
    let y = 0;
    rows.forEach((row, rank) => {
        let height = 0;
        for (const box of row) {
            height = Math.max(height, box.height);
        }
        for (const box of row) {
            box.y = y + (box.low ? height - box.height : 0);
        }
        tops.push(y);
        bottoms.push(y + height);
        y += height + gap + Math.min(gap, far[rank] * 0.08);
    });
    return { tops, bottoms };
}

/**
 * @param {Link} link
 * @param {Box[]} chain
 * @param {number[]} tops
 * @param {number[]} bottoms
 * @returns {Point[]}
 */
function pointsOf({ source, target, out, into }, chain, tops, bottoms) {
    /** @type {Point[]} */
    const points = [
        [source.x + out, source.y + source.height - source.inset - source.foot],
        [source.x + out, bottoms[source.rank]],
    ];
    for (const box of chain.slice(1, -1)) {
        points.push([box.x, tops[box.rank]], [box.x, bottoms[box.rank]]);
    }
    const x = target.x + (into ?? 0);
    points.push([x, tops[target.rank]], [x, target.y + target.inset]);
    return points;
}
