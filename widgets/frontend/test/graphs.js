/** Graph documents, written by a few loops, for the tests that lay them out. */

/** Writes a document node by node. */
class Maker {
    constructor() {
        this.nodes = [];
        this.gradient = false;
    }

    add(op, inputs, more = {}) {
        const id = this.nodes.length;
        const shape = more.shape ?? [8, 64];
        this.nodes.push({
            id, op, kind: "elementwise", shape, dtype: "float32", inputs, name: "", where: "", value: "",
            gradient: this.gradient, kernel: null, module: "", modules: [], ...more,
        });
        return id;
    }

    source(name, shape = [64, 64]) {
        return this.add("array", [], { kind: "source", name, shape, stored: true });
    }

    document(outputs) {
        const edges = this.nodes.flatMap((node) =>
            node.inputs.map((source) => ({ source, target: node.id, fused: false, rule: "wanted", reason: "" })),
        );
        return { format: "jt_edu.graph", version: 1, nodes: this.nodes, kernels: [], edges, outputs };
    }
}

/** A residual perceptron of about `size` nodes, forward and backward; each gradient reads forward values. */
export function training(size) {
    const n = new Maker();
    const forward = [];
    let h = n.source("x");
    const layers = Math.floor(size / 11);
    for (let k = 0; k < layers; k += 1) {
        const w = n.source(`W${k}`);
        const product = n.add("matmul", [h, w], { kind: "reindex_reduce" });
        const low = n.add("tanh", [product]);
        const sum = n.add("add", [low, h]);
        forward.push({ h, w, low });
        h = sum;
    }
    n.gradient = true;
    let d = n.add("ones_like", [h]);
    const outputs = [];
    for (const { h: input, w, low } of forward.reverse()) {
        const square = n.add("multiply", [low, low]);
        const slope = n.add("one_minus", [square]);
        const dlow = n.add("multiply", [d, slope]);
        outputs.push(n.add("matmul", [input, dlow], { kind: "reindex_reduce" }));
        const back = n.add("matmul", [dlow, w], { kind: "reindex_reduce" });
        const scaled = n.add("scale", [back]);
        d = n.add("add", [d, scaled]);
    }
    return n.document(outputs);
}

/** A network like resnet18, as modules: four layers, each of `blocks` / 4 blocks; forward and mirrored backward. */
export function network(blocks) {
    const n = new Maker();
    let h = n.source("x", [8, 3, 32, 32]);
    const built = [];
    const layer = (op, inputs, path, classes, count, shape) => {
        let last = inputs[0];
        for (let k = 0; k < count; k += 1) {
            const w = n.source(`${path.slice(4).replaceAll("/", ".")}.${k}`);
            const more = { module: path, modules: classes, shape };
            const wide = n.add("broadcast", [w], { kind: "reindex", ...more });
            const next = n.add(op, [last, wide, ...(k === count - 1 ? inputs.slice(1) : [])], more);
            built.push({ inputs: [last, wide], more });
            last = n.add("sum", [next], { kind: "reindex_reduce", stored: true, ...more });
            built.push({ inputs: [next], more });
        }
        return last;
    };
    for (let k = 0; k < blocks; k += 1) {
        const part = 1 + Math.floor((4 * k) / blocks);
        const path = `Net/layer${part}/${k % Math.ceil(blocks / 4)}`;
        const shape = [8, 64 * part];
        const classes = ["Net", "Sequential", "BasicBlock"];
        const low = layer("multiply", [h], `${path}/conv1`, [...classes, "Conv"], 2, shape);
        const norm = layer("subtract", [low], `${path}/bn1`, [...classes, "BatchNorm"], 4, shape);
        const deep = layer("multiply", [norm], `${path}/conv2`, [...classes, "Conv"], 2, shape);
        const last = layer("subtract", [deep], `${path}/bn2`, [...classes, "BatchNorm"], 4, shape);
        const more = { module: path, modules: classes, shape };
        built.push({ inputs: [last, h], more });
        h = n.add("add", [last, h], { stored: true, ...more });
    }
    n.gradient = true;
    let d = n.add("ones_like", [h]);
    for (const { inputs, more } of built.reverse()) {
        const part = n.add("gradient", [d, inputs[inputs.length - 1]], more);
        d = n.add("multiply", [part, inputs[0]], { ...more, stored: true });
    }
    return n.document([h, d]);
}
