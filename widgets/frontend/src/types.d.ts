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
    kernel: number | null;
    stored: boolean;
    module: string;
    modules: string[];
    twin: number | null;
}

export interface Edge {
    source: number;
    target: number;
    fused: boolean;
    rule: string;
    reason: string;
}

export interface Graph {
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
    min: Figure;
    mean: Figure;
    max: Figure;
    nan: number;
    inf: number;
    zero: number;
    count: number;
    dtype: string;
}

export interface MemoryEvent {
    action: string;
    node: number;
    bytes: number;
    alive: number;
    kernel: number | null;
}

export interface Machine {
    bandwidth: number;
    flops: number;
    threads: number;
}

/** The document after decoding: checked, with what is absent filled in, and with the look-ups that views need. */
export interface Page {
    summary: string;
    notes: string[];
    graph: Graph;
    kernels: Kernel[];
    passes: Pass[];
    values: Record<string, Value>;
    memory: MemoryEvent[];
    peak: number;
    predicted_peak: number;
    machine: Machine | null;
    /** What single views add; each checks its own part. */
    tape?: unknown;
    loops?: unknown;
    train?: unknown;
    code?: unknown;
    /** All numbers of all thumbnails. */
    blocks: Float32Array;
    /** Nodes by id. */
    nodes: Map<number, Node>;
    /** Who reads a node, by id. */
    users: Map<number, number[]>;
    /** Kernels that compute a node, by the node's id; nearly always one. */
    computedBy: Map<number, Kernel[]>;
    /** Kernels by key. */
    byKey: Map<string, Kernel>;
    /** The numbers of a node's thumbnail, or null where the page has none. */
    numbers(id: number): Float32Array | null;
}

/** What is selected anywhere on the page. `from` is the uid of the view that selected it. */
export interface Selection {
    nodes: number[];
    kernel: string | null;
    line: number | null;
    time: number | null;
    rank: number | null;
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

/** A dict that crosses between Python and JavaScript. */
export type Message = Record<string, unknown>;

/** The equivalent of a view as a table. */
export interface Table {
    columns: string[];
    rows: (string | number)[][];
}

/** What a view returns from `draw`. */
export interface Drawn {
    /** A key was pressed while the view had the focus. True where it was meant for the view. */
    key?(event: KeyboardEvent): boolean;
    table(): Table;
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
    embed(name: string, element: HTMLElement): Drawn;
}

/** One kind of view, as src/index.js lists it. */
export interface ViewKind {
    /** The value of the trait `view`. */
    name: string;
    title: string;
    /** Keys for the help card, beside the common ones: [key, what it does]. */
    keys: [string, string][];
    /** Its own rules, each beginning with ".jt-view": the text of a style sheet that it imports. */
    style?: string;
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
