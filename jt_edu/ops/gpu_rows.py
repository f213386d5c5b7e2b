"""GPU rows: how do the threads of a GPU sort rows, and how do they scan them?

sorted    A block puts a tile in order, then tiles grow together, two at a time. A thread has one number, and looks for
          its place by halving: the number of those before it in its own tile and in the other one.

              1 4 6 | 2 3 9       4: one in its own, and two in the other, so its place is 3

scanned   A block has a part of a row, a thread a number. A thread joins its number with that of the thread one before
          it, then two, then four: so in the end each has all up to its own. Where a row has several parts, a launch
          before finds out what each of them comes to.

each      Work whose pieces do not depend on each other: a thread for each piece, which does what a CPU does.
elements  A thread for each element of the output.

Such a text is the `threads` of a Code, beside its text for a CPU, and gives the same answer.
"""

from __future__ import annotations

from textwrap import dedent, indent

ELEMENTS = """
@cuda.jit
def each({given}, out):
    e = cuda.grid(1)
    if e < out.size:
{lines}


def kernel(lo, hi, {given}, out):
    if out.size > 0:
        each[-(-out.size // 256), 256]({seen})
"""
HEAD = "import math\n\nimport numpy as np\n\nfrom jt_edu import cuda\n\n\n"
SORT = """
@cuda.jit(device=True)
def before(a, b):
    return {before}


@cuda.jit(device=True)
def place(keys, n, k, width):
    a, second = keys[k], k // width % 2
    first = k // width * width + (-width if second else width)  # of the other tile
    first = min(first, n)
    low, high = first, min(first + width, n)
    while low < high:
        middle = (low + high) // 2
        b = keys[middle]
        ahead = not before(a, b) if second else before(b, a)  # of equal ones that of the first tile is ahead
        low, high = (middle + 1, high) if ahead else (low, middle)
    return k + low - first - width * second


@cuda.jit
def ordered(x, numbers, order):
    keys, here = cuda.shared.array({tile}, x.dtype), cuda.shared.array({tile}, "int64")
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    across = -(-x.shape[1] // size)
    row, begin = cuda.blockIdx.x // across, cuda.blockIdx.x % across * size
    n = min(size, x.shape[1] - begin)
    if t < n:
        keys[t], here[t] = x[row, begin + t], begin + t
    cuda.syncthreads()
    width = 1
    while width < n:
        a, i, p = keys[0], here[0], t
        if t < n:
            a, i, p = keys[t], here[t], place(keys, n, t, width)
        cuda.syncthreads()
        if t < n:
            keys[p], here[p] = a, i
        cuda.syncthreads()
        width *= 2
    k = begin + t
    if t < n and row < len(numbers):
        numbers[row, k] = keys[t]
    if t < n and row < len(order) and k < order.shape[1]:
        order[row, k] = here[t]


@cuda.jit
def merged(keys, here, numbers, order, width):
    n = keys.shape[1]
    row, k = cuda.grid(1) // n, cuda.grid(1) % n
    if row < keys.shape[0]:
        p = place(keys[row], n, k, width)
        if row < len(numbers):
            numbers[row, p] = keys[row, k]
        if row < len(order) and p < order.shape[1]:
            order[row, p] = here[row, k]


def room(x, last, out):
    if last:
        return {ends}
    return cuda.device_array(x.shape, x.dtype), cuda.device_array(x.shape, "int64")


def kernel(lo, hi, x, out):
    n = x.shape[1]
    if n == 0 or hi == 0:
        return
    width = min({tile}, -(-n // 32) * 32)
    there = room(x, width >= n, out)
    ordered[hi * -(-n // width), width](x, *there)
    while width < n:
        here, there = there, room(x, 2 * width >= n, out)
        merged[-(-(hi * n) // 256), 256](*here, *there, width)
        width *= 2
"""
TILE = 512
SCAN = """
@cuda.jit(device=True)
def joined({earlier}, {state}):
{join}


@cuda.jit(device=True)
def scanned({state}, last, {rooms}):
    t, size, side, step = cuda.threadIdx.x, cuda.blockDim.x, 0, 1
    cuda.syncthreads()
    {here} = {state}
    cuda.syncthreads()
    while step < size:
        if t >= step:
            {state} = joined({there}, {state})
        side = size - side
        {here} = {state}
        cuda.syncthreads()
        step *= 2
    return {state}, {last}


@cuda.jit
def scan({given}, out, {totals}, parts, share, ends):
{shared}
    t, size, n = cuda.threadIdx.x, cuda.blockDim.x, {first}.shape[-1]
    row, part = cuda.blockIdx.x // parts, cuda.blockIdx.x % parts
    {carry} = {zero}
    known = ends > 0 and part > 0
    if known:  # what the parts before come to
        {state} = {before}
        {state}, {carry} = scanned({state}, part - 1, {rooms})
    for begin in range(part * share, min(n, part * share + share), size):
        i = min(begin + t, n - 1)
        {state} = {begin}
        if known and t == 0:
            {state} = joined({carry}, {state})
        {state}, {carry} = scanned({state}, min(size, n - begin) - 1, {rooms})
        known = True
        if ends > 0 and begin + t < n:
{write}
    if ends == 0 and t == 0:
        {total} = {carry}
{after}

def kernel(lo, hi, {given}, out):
    n = {first}.shape[-1]
    size = min(256, max(1, -(-n // 32)) * 32)
    share = -(-n // (max(1, min(256, n // 1024, 512 // max(hi, 1))) * size)) * size
    parts = max(1, -(-n // max(share, 1)))
    {totals} = {made}
    if hi > 0 and parts > 1:
        scan[hi * parts, size]({given}, out, {totals}, parts, share, 0)
    if hi > 0:
        scan[hi * parts, size]({given}, out, {totals}, parts, share, 1)
"""
EACH = """
@cuda.jit(device=True)
def piece(lo, hi, {work}

@cuda.jit
def each(count, {given}):
    k = cuda.grid(1)
    if k < count:
        piece(k, k + 1, {given})


def kernel(lo, hi, {given}):
    if hi > 0:
        each[-(-hi // 256), 256](hi, {given})
"""


def sort(before: str, numbers: bool = False) -> str:
    """A text that puts each row in order, and writes as many places (or `numbers`) of it as there is room for.

    Args:
        before: whether the number a belongs before b.

    Example:
        >>> "return a < b" in sort("a < b")
        True
    """
    ends = 'out, cuda.device_array((0, 1), "int64")' if numbers else "cuda.device_array((0, 1), x.dtype), out"
    return HEAD + SORT.strip().format(before=before, tile=TILE, ends=ends) + "\n"


def scan(
    states: tuple[tuple[str, str], ...], begin: str, join: str, write: str, given: str = "x", after: str = ""
) -> str:
    """A text in which each number of a row is joined with all those before it.

    Args:
        states: for each part of what is known up to a number, its dtype and what it is before all.
        begin: what is known of the number i of `row` alone: s0, s1.
        join: lines that return what is known of both of what comes earlier (p0, p1), and s0, s1 behind it.
        write: lines that write what is known, s0, s1, to `out`.
        given: the arrays, of which the first one has the rows.
        after: lines at the end, in which `n`, `parts`, and the whole, c0, c1, are known.

    Example:
        >>> text = scan((("np.int64", "0"),), "np.int64(x[row, i])", "return p0 + s0", "out[row, i] = s0")
        >>> "def scanned(s0, last, room0):" in text
        True
    """
    many = range(len(states))

    def listed(form: str) -> str:
        return ", ".join(form.format(k=k, dtype=states[k][0], zero=states[k][1]) for k in many)

    shared = "\n".join(f"    room{k} = cuda.shared.array(512, {states[k][0]})" for k in many)
    return HEAD + SCAN.strip().format(
        given=given, first=given.partition(",")[0], begin=begin, join=_at(4, dedent(join).strip()), shared=shared,
        write=_at(12, write), after=_at(4, after), earlier=listed("p{k}"), state=listed("s{k}"), carry=listed("c{k}"),
        rooms=listed("room{k}"), totals=listed("total{k}"),
        here=listed("room{k}[side + t]"), there=listed("room{k}[side + t - step]"),
        last=listed("room{k}[side + last]"), before=listed("total{k}[row, min(t, part - 1)]"), zero=listed("{zero}"),
        total=listed("total{k}[row, part]"), made=listed("cuda.device_array((hi, parts), {dtype})"),
    ) + "\n"  # fmt: skip


def found(condition: str, given: str) -> str:
    """A text that writes the places where something holds, and behind the room for all of them how many there are.

    Args:
        condition: what has to hold at `i` of the row `given`.

    Example:
        >>> "return mask[i]" in found("mask[i]", "mask")
        True
    """
    helper = f"@cuda.jit(device=True)\ndef holds({given}, i):\n    return {condition}\n\n\n"
    count, last = ("np.int64", "np.int64(0)"), "if ends > 0 and t == 0 and part == parts - 1:\n    out[n] = c0"
    write = f"if holds({given}, i):\n    out[s0 - 1] = i"
    text = scan((count,), f"np.int64(holds({given}, i))", "return p0 + s0", write, given, last)
    return text.replace(HEAD, HEAD + helper)


def each(text: str) -> str:
    """A text in which a thread does each of the pieces that a text for a CPU does one after the other.

    Example:
        >>> "def piece(lo, hi, x, out):" in each("def kernel(lo, hi, x, out): ...")
        True
    """
    imports, _, work = dedent(text).strip().partition("def kernel(lo, hi, ")
    given = work.partition(")")[0]
    return HEAD.rstrip() + "\n" + imports + EACH.strip().format(work=work + "\n", given=given) + "\n"


def elements(lines: str, given: str, seen: str = "") -> str:
    """A text in which a thread makes each element of the output.

    Args:
        lines: what it does, where `e` is the number of the element.
        given: the inputs.
        seen: how the kernel sees these and the output, if not as they are.

    Example:
        >>> "if e < out.size:" in elements("out[e] = x[e] + 1", "x")
        True
    """
    return HEAD + ELEMENTS.strip().format(lines=_at(8, lines), given=given, seen=seen or f"{given}, out") + "\n"


def _at(depth: int, lines: str) -> str:
    return indent(lines, " " * depth)
