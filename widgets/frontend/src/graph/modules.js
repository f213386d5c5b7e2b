/**
 * Modules: which boxes hold which, by the modules that built the nodes?
 *
 * The second half of jt_edu/draw/clusters.py: one level after the other, boxes that would wait for themselves are
 * split, neighbours that look the same are folded, and what is still too long is cut into parts.
 */

import { circleOf, inOrder } from "./circles.js";
import { Group, MANY, free, gather, inputBox, isGroup } from "./group.js";
import { clean, cut } from "./text.js";

/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./group.js").Item} Item */
/** @typedef {import("./group.js").Home} Home */
/** @typedef {import("./groups.js").Nodes} Nodes */
/** @typedef {import("./view.js").Node} Node */

const DEEP = 12; // boxes in boxes; what is deeper stands in the innermost
const ALIKE = 3; // neighbours that are folded; of those that hold boxes, two are enough
const LINES = 60; // nodes that need no boxes for the lines that built them
const PART = 50; // boxes in a part

/** Makes boxes for modules, one level after the other. */
export class Modules {
    /** @param {Nodes} nodes @param {boolean} fold */
    constructor(nodes, fold) {
        this.nodes = nodes;
        this.fold = fold;
        this.paths = pathsOf(nodes);
        this.keys = new Set(nodes.keys());
        /** @type {Map<string, number>} */
        this.signs = new Map();
    }

    /**
     * Put the nodes of a box into boxes inside of it.
     * @param {Group} parent
     * @param {number} depth
     */
    fill(parent, depth) {
        const home = this.homes(parent, depth);
        this.split(home);
        let items = [...new Set(home.values())];
        for (const [id, item] of home) {
            if (isGroup(item)) {
                item.nodes.push(id);
            }
        }
        items.filter(isGroup).forEach((item) => this.fill(item, depth + 1));
        if (this.fold) {
            items = this.folded(parent, items, home);
        }
        parent.items = this.parts(parent, items, home);
        parent.sign = this.sign([parent.kind, parent.made, parent.gradient, ...parent.items.map((i) => this.look(i))]);
    }

    /** @param {Group} parent @param {number} depth @returns {Home} */
    homes(parent, depth) {
        /** @type {Home} */
        const home = new Map();
        /** @type {Map<string, Group>} */
        const found = new Map();
        for (const id of parent.nodes) {
            const step = this.paths.get(id)?.[depth];
            if (step === undefined) {
                home.set(id, id);
                continue;
            }
            const box = found.get(step) ?? this.box(parent, step, /** @type {Node} */ (this.nodes.get(id)), depth);
            found.set(step, box);
            home.set(id, box);
        }
        return home;
    }

    /** @param {Group} parent @param {string} step @param {Node} node @param {number} depth @returns {Group} */
    box(parent, step, node, depth) {
        const gradient = Boolean(node.gradient);
        if (step.startsWith("i:")) {
            return inputBox(this.key(step), this.nodes.get(/** @type {Id} */ (node.input)) ?? node, parent);
        }
        if (step.startsWith("l:")) {
            const words = step.slice(2).replace(/^∂ /, "");
            const at = words.indexOf(": ");
            const [name, made] = at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at + 2)];
            return new Group(this.key(step), "line", { name, made, gradient, parent });
        }
        const name = depth ? step : step.slice(2);
        const key = depth ? `${parent.key}/${step}` : step;
        return new Group(this.key(key), "module", { name, made: classOf(node, depth), gradient, parent });
    }

    /** @param {string} key */
    key(key) {
        key = free(cut(key, 200), this.keys);
        this.keys.add(key);
        return key;
    }

    /**
     * Boxes that wait for each other in a circle are split into stretches without anything else in between.
     * @param {Home} home
     */
    split(home) {
        const circle = circleOf([...new Set(home.values())], this.pairs(home));
        /** @type {Item | null} */
        let before = null;
        /** @type {Map<Group, {calls: number, box: Group}>} */
        const current = new Map();
        for (const [id, item] of home) {
            if (!circle.has(item)) {
                continue;
            }
            if (isGroup(item)) {
                const one = current.get(item) ?? { calls: 0, box: item };
                if (item !== before) {
                    one.calls += 1;
                    one.box = one.calls === 1 ? item : this.again(item, one.calls);
                }
                current.set(item, one);
                home.set(id, one.box);
            }
            before = item;
        }
    }

    /** @param {Group} group @param {number} call */
    again(group, call) {
        return new Group(this.key(`${group.key}#${call}`), group.kind, { ...group, nodes: [], items: [] });
    }

    /** Who needs whom, among what stands side by side. @param {Home} home @returns {[Item, Item][]} */
    pairs(home) {
        /** @type {[Item, Item][]} */
        const found = [];
        for (const [id, item] of home) {
            for (const input of this.nodes.get(id)?.inputs ?? []) {
                const other = home.get(input);
                if (other !== undefined && other !== item) {
                    found.push([other, item]);
                }
            }
        }
        return found;
    }

    /**
     * Neighbours that look the same inside become one box, unless that would close a circle.
     * @param {Group} parent
     * @param {Item[]} items
     * @param {Home} home
     * @returns {Item[]}
     */
    folded(parent, items, home) {
        const runs = this.runs(items);
        /** @type {Map<Item, Group>} */
        const inside = new Map();
        for (const run of runs.filter((found) => found.length >= alike(found[0]))) {
            const box = this.repeat(parent, run.filter(isGroup));
            run.forEach((item) => inside.set(item, box));
        }
        if (!inside.size) {
            return items;
        }
        const folded = new Map([...home].map(([id, item]) => [id, inside.get(item) ?? item]));
        const circle = circleOf([...new Set(folded.values())], this.pairs(folded));
        return runs.flatMap((run) => {
            const box = inside.get(run[0]);
            if (!box || circle.has(box)) {
                return run;
            }
            box.groups.forEach((group) => {
                group.parent = box;
            });
            return [box];
        });
    }

    /** @param {Item[]} items @returns {Item[][]} neighbours that look the same */
    runs(items) {
        /** @type {Item[][]} */
        const runs = [];
        for (const item of items) {
            const last = runs[runs.length - 1];
            if (last && isGroup(item) && item.kind === "module" && this.look(last[0]) === item.sign) {
                last.push(item);
            } else {
                runs.push([item]);
            }
        }
        return runs;
    }

    /** @param {Group} parent @param {Group[]} run @returns {Group} */
    repeat(parent, run) {
        const [first] = run;
        const box = new Group(this.key(`r:${first.key}`), "repeat", {
            name: `${cut(first.made || first.name, 24)} × ${run.length}`,
            gradient: first.gradient,
            parent,
            nodes: run.flatMap((group) => group.nodes),
            items: run,
        });
        box.sign = this.sign(["repeat", run.length, first.sign]);
        return box;
    }

    /**
     * What is too long is cut into stretches, each of which needs only those before it.
     * @param {Group} parent
     * @param {Item[]} items
     * @param {Home} home
     * @returns {Item[]}
     */
    parts(parent, items, home) {
        if (items.length <= MANY) {
            return items;
        }
        /** @type {Map<Item, Item>} */
        const where = new Map();
        for (const group of items.filter(isGroup)) {
            group.groups.forEach((inner) => where.set(inner, group));
        }
        /** @type {Home} */
        const placed = new Map([...home].map(([id, item]) => [id, where.get(item) ?? item]));
        const order = inOrder(items, this.pairs(placed));
        const size = Math.max(PART, Math.ceil(order.length / (MANY - 1)));
        const parts = [];
        for (let k = 0; k < order.length; k += size) {
            const name = `part ${k / size + 1}`;
            const box = new Group(this.key(`p:${parent.key}:${k / size + 1}`), "part", { name, parent });
            box.items = order.slice(k, k + size);
            box.groups.forEach((group) => {
                group.parent = box;
            });
            box.nodes = box.items.flatMap((item) => (isGroup(item) ? item.nodes : [item]));
            box.items = this.parts(box, box.items, placed);
            parts.push(box);
        }
        return parts;
    }

    /** @param {Item} item */
    look(item) {
        if (isGroup(item)) {
            return item.sign;
        }
        const node = this.nodes.get(item);
        return this.sign([node?.op, node?.shape, node?.dtype]);
    }

    /** @param {unknown[]} look @returns {number} */
    sign(look) {
        const text = JSON.stringify(look);
        const sign = this.signs.get(text) ?? this.signs.size + 1;
        this.signs.set(text, sign);
        return sign;
    }
}

/**
 * The boxes that each node is in, outermost first. Gradients stand in boxes of their own, beginning with "g:".
 * @param {Nodes} nodes
 * @returns {Map<Id, string[]>}
 */
function pathsOf(nodes) {
    /** @type {Map<Id, string[]>} */
    const paths = new Map();
    /** @type {Id[]} */
    const alone = [];
    for (const [id, node] of nodes) {
        const made = node.input ?? null;
        const steps = made === null ? stepsOf(node) : [`i:${clean(made)}`];
        if (!steps.length) {
            alone.push(id);
            continue;
        }
        if (made === null) {
            steps[0] = (node.gradient ? "g:" : "m:") + steps[0];
        }
        paths.set(id, steps.length > DEEP ? [...steps.slice(0, DEEP - 1), steps.slice(DEEP - 1).join("/")] : steps);
    }
    const modules = [...paths.values()].some(([first]) => !first.startsWith("i:"));
    for (const [line, ids] of linesOf(nodes, alone, modules)) {
        ids.forEach((id) => paths.set(id, [line]));
    }
    return paths;
}

/** @param {Node} node @returns {string[]} */
function stepsOf(node) {
    return node.module ? clean(node.module).split("/").filter(Boolean) : [];
}

/**
 * What no module built, by the learner's line; a small graph without modules is shown as it is.
 * @param {Nodes} nodes
 * @param {Id[]} alone
 * @param {boolean} modules
 * @returns {[string, Id[]][]}
 */
function linesOf(nodes, alone, modules) {
    /** @type {Map<string, Id[]>} */
    const members = new Map();
    let total = 0;
    for (const id of alone) {
        const node = /** @type {Node} */ (nodes.get(id));
        const where = clean(node.where);
        if (where && node.kind !== "source" && node.kind !== "constant") {
            gather(members, `l:${node.gradient ? "∂ " : ""}${cut(where, 150)}`).push(id);
            total += 1;
        }
    }
    return !modules && total <= LINES ? [] : [...members].filter(([, ids]) => ids.length > 1);
}

/**
 * The class of a module on the way; a list that holds modules is a step without a class.
 * @param {Node} node
 * @param {number} depth
 */
function classOf(node, depth) {
    return clean(node.modules?.[depth]);
}

/** How many neighbours that look like this one are folded. @param {Item} item */
function alike(item) {
    return isGroup(item) && item.groups.length ? 2 : ALIKE;
}
