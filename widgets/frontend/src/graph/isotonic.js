/**
 * Isotonic regression: which positions are nearest to the wishes, and keep the order and the gaps?
 *
 *     wishes      a . . b c . .       b and c want to stand nearly at the same place
 *     positions   a . [ b ][ c ]      as near as possible: b and c form a block around the mean of their wishes
 *
 * The same steps as isotonic() in jt_edu/draw/x_coordinates.py, for a stretch of long lists: sweeps ask for each row
 * of a picture many times, and need no new list for that. Nothing here knows what stands there.
 */

/** Wishes, their weights, the least distances to the one before; and what is found. */
export class Isotonic {
    /** @param {number} size */
    constructor(size) {
        this.wishes = new Float64Array(size);
        this.weights = new Float64Array(size);
        this.gaps = new Float64Array(size);
        this.found = new Float64Array(size);
        this.means = new Float64Array(size); // of blocks
        this.totals = new Float64Array(size); // the weights of blocks
        this.members = new Int32Array(size); // how many are in each block
    }

    /**
     * The positions from `begin` to `end`, nearest by weighted least squares.
     * @param {number} begin
     * @param {number} end
     */
    solve(begin, end) {
        const { means, members, gaps, found } = this;
        const blocks = this.merge(begin, end);
        for (let block = 0, k = begin, offset = 0; block < blocks; block += 1) {
            for (let rest = members[block]; rest; rest -= 1, k += 1) {
                offset += gaps[k];
                found[k] = means[block] + offset;
            }
        }
    }

    /**
     * Neighbours that would come too close are merged into a block, which stands at the weighted mean of its wishes.
     * @param {number} begin
     * @param {number} end
     * @returns {number} how many blocks there are
     */
    merge(begin, end) {
        const { wishes, weights, gaps, means, totals, members } = this;
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
}
