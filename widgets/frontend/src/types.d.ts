// Types: what is a page made of, and what do a view and its shell promise each other?
//
// Only the type checker reads this file. widgets/README.md says the same in words.

/** One node of the graph. Ids are numbers of the Python process, not positions. */
export interface Node {
    id: number;
    op: string;
    kind: string;
    shape: number[];
    dtype: string;
    inputs: number[];
    name: string;
    where: string;
    held: boolean;
    value: string;
    label: string;
    gradient: boolean;
    /** Whether it is a look at another array, which costs nothing. */
    view: boolean;
    reducer: string; // what a reduction does: "add", "maximum", …
    kernel: number | null;
    stored: boolean;
    module: string;
    /** The classes of the modules in `module`, one for each step. */
    modules: string[];
    twin: number | null; // the forward node whose gradient it is
    input: number | null; // the last node of those that only make an input, if it is one of them
    made: string; // what these make, in words
}

export interface Edge {
    source: number;
    target: number;
    fused: boolean;
    rule: string;
    reason: string;
}

export interface Graph {
    format: "jt_edu.graph";
    version: number;
    nodes: Node[];
    kernels: { id: number; name: string; nodes: number[] }[];
    edges: Edge[];
    outputs: number[];
}

/** One line of a kernel's source, and what it computes. */
export interface Line {
    number: number;
    node: number;
    op: string;
    where: string;
}

/** A stretch of a source line that the editor would colour: line, from, to, and one letter for its class. */
export type Span = [number, number, number, string];

export interface Kernel {
    id: number;
    key: string;
    name: string;
    kind: string;
    loops: string;
    source: string;
    lines: Line[];
    classes: Span[];
    nodes: number[];
    stored: number[];
    reads: number[];
    bytes: number;
    flops: number;
    calls: string[];
    backend: string;
    ran: boolean;
    compiled: boolean | null;
    compile_ms: number | null;
    ms: number | null;
    runs?: number; // of which `ms` is the least; 1 on old pages
    edited: boolean;
}

export interface Pass {
    name: string;
    why: string;
    groups: Record<string, number | null>;
    kernels: number;
    bytes: number;
    temporaries: number;
    temporary_bytes: number;
}

/** A number that JSON cannot hold is null, or the words "nan", "inf", "-inf". */
export type Figure = number | string | null;

/** A value's thumbnail. Its numbers are `count` floats of the page's blocks, row by row. */
export interface Value {
    shape: [number, number];
    block: [number, number];
    exact: boolean;
    min: Figure; mean: Figure; max: Figure;
    nan: number;
    inf: number;
    zero: number;
    count: number;
    dtype: string;
}

export interface MemoryEvent {
    action: string; node: number; bytes: number; alive: number; kernel: number | null;
}

/** What jt.machine() measured; `bandwidth` and `flops` are the two roofs. */
export interface Machine {
    cpu: string;
    threads: number;
    copy_bytes_per_second: number;
    read_bytes_per_second: number;
    one_thread_flops_per_second: number;
    all_threads_flops_per_second: number;
    product_flops_per_second: number;
    cache_bytes: number;
    array_bytes: number;
    disturbed: boolean;
    bandwidth: number;
    flops: number;
}

/** A step of a tape: what is computed after what. */
export interface TapeStep {
    node: number;
    op: string;
    phase: "forward" | "backward";
    twin: number | null;
    row: number;
    inputs: number[];
    /** Views that it reads its inputs through. */
    through: number[];
    kernel: number | null;
    bytes: number;
    alive: number;
    /** The last step that reads it. */
    until: number;
    /** Forward values that it reads. */
    saved?: number[];
    /** The forward values whose gradient it is. */
    of?: number[];
    rule?: string[]; // the one that it follows, where there is one
    /** What each reader adds to the gradient `to`: the last of the `done` parts. */
    adds?: { to: number; parts: {node: number; reader: number | null; row: number | null}[]; done: number; of: number };
}

export interface Tape {
    loss: number;
    steps: TapeStep[];
    rows: number;
    groups: { label: string; from: number; to: number }[];
    passing: { node: number; row: number }[];
    kept: { node: number; step: number; until: number; bytes: number }[];
    peak: { step: number; bytes: number };
    leaves: { node: number; gradient: number; name: string }[];
    kernel_alive: number[];
    rules: Record<string, string[]>;
}

/** An array that is watched while a kernel is stepped through. */
export interface LoopsArray {
    name: string; role: string; node: number; shape: number[]; dtype: string;
    corner: [number, number]; size: [number, number]; block: [number, number];
}

/** The steps of a kernel: `codes` is one flat list, which views/loops/model.js reads. */
export interface Loops {
    kernel: number;
    key: string;
    source: string;
    classes: Span[];
    lines: [number, number][];
    arrays: LoopsArray[];
    names: string[];
    steps: number;
    /** How many there would be without the limit. */
    about: number;
    complete: boolean;
    note: string;
    error: string;
    codes: number[];
    numbers: Figure[]; window?: import("./views/loops/window.js").Told | null;
}

export interface TrainRow {
    step: number;
    epoch: number;
    loss: Figure;
    lr: Figure;
    ms: number;
    gradient: Figure[];
    ratio: Figure[];
    dead: (number | null)[];
    spike: boolean;
}

export interface TrainStatus {
    done: number; planned: number; running: boolean; paused: boolean; left_ms: number | null;
    kept: number[]; kept_bytes: number; thinned: number;
}

export interface Train {
    modules: string[];
    units: string[];
    rows: TrainRow[];
    checks: { step: number; loss: Figure; accuracy: Figure | null }[];
    status: TrainStatus;
    spike: string; dead: string;
}

/** How long one array lived, and who kept it. */
export interface Lived {
    node: number;
    bytes: number;
    from: number;
    to: number;
    offset: number;
    stays: boolean;
    why: string;
    reads: number[];
    keepers: { why: string; kernel: number | null; text: string }[];
}

export interface Lifetimes {
    arrays: Lived[];
    alive: number[];
    peak: number;
    peak_kernel: number;
    predicted_peak: number;
    height: number;
    starts: number[];
    unfused?: Lifetimes;
    kernels?: { name: string }[];
}

/** A kernel under the roofline. */
export interface RoofKernel {
    key: string;
    name: string;
    nodes: number[];
    ms: number;
    times: number;
    bytes: number;
    flops: number;
    has_place: boolean;
    intensity: number | null;
    speed: number | null;
    bound: string;
    share: number | null;
    sentence: string;
}

export interface Roofline {
    machine: Machine;
    ways: { fused: RoofKernel[]; unfused: RoofKernel[] | null };
    summaries?: { fused: string; unfused: string | null };
    call_ms: number;
}

/** The document after decoding: checked, with what is absent filled in, and with the look-ups that views need. */
export interface Page {
    format: "jt_edu.page";
    version: number;
    summary: string;
    notes: string[];
    about: string[]; // how its figures came about
    graph: Graph;
    kernels: Kernel[];
    passes: Pass[];
    values: Record<string, Value>;
    memory: MemoryEvent[];
    peak: number;
    predicted_peak: number;
    /** What single views add; fit.js checks it. */
    asked?: import("./views/explore/lines.js").Asked[]; tape?: Tape;
    loops?: Loops;
    train?: Train;
    lifetimes?: Lifetimes;
    roofline?: Roofline;
    machine?: Machine;
    /** Edits and assembly that Python was asked for before the page was saved; views/kernel.js. */
    code?: Record<string, unknown>;
    /** All numbers of all thumbnails. */
    blocks: Float32Array;
    /** Nodes by id. */
    nodes: Map<number, Node>;
    /** Who reads a node, by id. */
    users: Map<number, number[]>;
}

/** What is selected anywhere on the page. `from` is the uid of the view that selected it. */
export interface Selection {
    nodes: number[];
    kernel: string | null;
    line: number | null;
    time: number | null; rank: number | null; // a step of a tape; with a rank, ns
    from: string;
}

export interface Bus {
    /** Select; what is left out counts as empty. */
    select(part: Partial<Omit<Selection, "from">>): void;
    /** Hear of every selection, one's own too, and soon after of the one that is there. Returns how to stop. */
    on(listener: (selection: Selection) => void): () => void;
    /** What is selected now. */
    current(): Selection;
}

/** Anything that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface State {
    /** What was kept under `key`; the fallback where nothing was, or something of another type. */
    get(key: string, fallback: number): number;
    get(key: string, fallback: string): string;
    get(key: string, fallback: boolean): boolean;
    get<T extends Json>(key: string, fallback: T): T;
    /** Keep a small value under `key`. */
    set(key: string, value: Json): void;
}

/**
 * A dict that crosses between Python and JavaScript. `do` says what a view asks; who answers is in jt_widgets:
 *
 *     values                               graph.py        run, and send the document again with values
 *     machine | try | revert, kernel       kernel.py       assembly; an edit's trial; the source as it was
 *     check, leaf                          tape.py         gradients beside differences
 *     pause | resume | step | rows | tape  train.py        what the buttons of a training do
 */
export type Message = Record<string, unknown>;

/** The equivalent of a view as a table. */
export interface Table {
    /** Of what; without it, of the view. */
    title?: string;
    columns: string[];
    rows: (string | number)[][];
}

/** What a view returns from `draw`. */
export interface Drawn {
    /** A key was pressed while the view had the focus. True where it was meant for the view. */
    key?(event: KeyboardEvent): boolean;
    table(): Table;
    /** Further keys for the help card, as in `ViewKind.keys`; a heading has no key. */
    keys?(): [string, string][];
    /** Take the focus, where the view's root is not its Tab stop. */
    focus?(): void;
    /** End timers, listeners and the subscription to the bus. */
    close?(): void;
}

export interface Context {
    page: Page;
    /** The element to fill. Its width follows the cell. It is the view's one Tab stop, and scrolls. */
    root: HTMLElement;
    bus: Bus;
    state: State;
    /** Whether Python can be asked. */
    live: boolean;
    /** Ask Python; rejects with an Error whose message can be shown. */
    ask(message: Message, seconds?: number): Promise<Message>;
    /** Hear what Python says unasked. Returns how to stop. */
    hear(listener: (message: Message) => void): () => void;
    /** Say it to a screen reader when it is quiet. */
    say(words: string): void;
    /** Whether the reader asked for reduced motion. */
    reduced(): boolean;
    /** Unique on the page: for ids. */
    uid: string;
    /** Draw another view of the same page into an element of this one. */
    embed(kind: ViewKind, element: HTMLElement): Drawn;
}

/** One kind of view, as src/index.js lists it. */
export interface ViewKind {
    name: string; // the value of the trait `view`
    title: string;
    about: string; // how to read it, in a sentence or two
    /** Keys for the help card, beside the common ones: [key, what it does]. */
    keys: [string, string][];
    draw(context: Context): Drawn;
}

/** What anywidget gives to `render`, and what a standalone page imitates. */
export interface Model {
    get(name: string): unknown;
    set(name: string, value: unknown): void;
    save_changes(): void;
    on(event: string, listener: (...given: any[]) => void): void;
    off(event: string, listener: (...given: any[]) => void): void;
    send(content: Message): void;
}
