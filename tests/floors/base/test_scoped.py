"""Scopes around functions that stop in the middle, and go on later."""

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

import jt_edu as jt
from jt_edu.base.allocator import pool
from jt_edu.base.context import rank_context


def ended(coroutine):
    """Its answer, from a thread of its own: in this one a browser that other tests drive may have a loop.

    Afterwards gradients are recorded in that thread.
    """

    def run():
        try:
            return asyncio.run(coroutine)
        finally:
            assert jt.is_grad_enabled()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result(60)


def test_whether_gradients_are_recorded_can_be_asked():
    @jt.no_grad
    def inside():
        with jt.enable_grad():
            here = jt.is_grad_enabled()
        return here, jt.is_grad_enabled()

    assert (jt.is_grad_enabled(), inside(), jt.is_grad_enabled()) == (True, (True, False), True)


@pytest.mark.parametrize("decorate", [jt.no_grad, jt.no_grad()])
def test_a_generator_records_nothing_in_its_steps_and_leaves_the_others_alone(decorate):
    @decorate
    def halves(x):
        while x is not None:
            x = yield (x * 0.5).requires_grad
        return jt.is_grad_enabled()

    steps = halves(jt.ones(1))

    assert inspect.isgeneratorfunction(halves)
    assert (next(steps), jt.is_grad_enabled(), steps.send(jt.ones(2))) == (False, True, False)
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert (end.value.value, jt.is_grad_enabled()) == (False, True)


def test_a_generator_hears_what_is_thrown_at_it_and_is_closed_inside():
    seen = []

    @jt.no_grad()
    def patient():
        try:
            while True:
                try:
                    yield jt.is_grad_enabled()
                except KeyError:
                    yield "caught"
        finally:
            seen.append(jt.is_grad_enabled())

    steps = patient()
    assert (next(steps), steps.throw(KeyError()), next(steps)) == (False, "caught", False)
    with pytest.raises(ZeroDivisionError):
        steps.throw(ZeroDivisionError())

    again = patient()
    next(again)
    again.close()
    assert (seen, jt.is_grad_enabled()) == ([False, False], True)


@pytest.mark.parametrize("decorate", [jt.no_grad, jt.no_grad()])
def test_a_coroutine_records_nothing_and_leaves_those_alone_that_run_while_it_waits(decorate):
    @decorate
    async def slow(x):
        await asyncio.sleep(0)
        y = x * 2
        await asyncio.sleep(0)
        return y.requires_grad, jt.is_grad_enabled()

    async def other():
        seen = []
        for _ in range(3):
            seen.append(jt.is_grad_enabled())
            await asyncio.sleep(0)
        return seen

    async def both():
        return await asyncio.gather(slow(jt.ones(1)), other(), slow(jt.ones(1)))

    assert asyncio.iscoroutinefunction(slow)
    assert ended(both()) == [(False, False), [True] * 3, (False, False)]
    assert jt.is_grad_enabled()


def test_flags_hold_in_the_steps_of_a_generator():
    @jt.flag_scope(backend="python")
    def asked():
        yield jt.flags.backend

    before = jt.flags.backend

    assert (next(asked()), jt.flags.backend) == ("python", before)


def test_an_async_generator_is_refused():
    async def gives():
        yield 1

    for decorate in (jt.no_grad, jt.no_grad(), jt.enable_grad, jt.flag_scope(fuse=False)):
        with pytest.raises(jt.ArgumentError, match="gives, an async generator"):
            decorate(gives)


def test_a_class_is_refused():
    for decorate in (jt.no_grad, jt.no_grad(), jt.flag_scope(fuse=False), jt.fork_rng()):
        with pytest.raises(jt.ArgumentError, match="Named, a class"):
            decorate(type("Named", (), {}))


def test_an_error_inside_comes_through():
    @jt.no_grad
    async def fails():
        await asyncio.sleep(0)
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        ended(fails())


async def _waits():
    await asyncio.sleep(0)


def _gives():
    yield jt.rand(1)


async def _gives_and_waits():
    yield jt.rand(1)


@pytest.mark.parametrize("function", [_waits, _gives, _gives_and_waits])
@pytest.mark.parametrize("scope", [jt.trace, jt.fork_rng, rank_context])
def test_what_begins_afresh_each_time_goes_around_no_function_that_stops(scope, function):
    with pytest.raises(jt.ArgumentError, match=f"{function.__name__}, a.* Try: the with statement inside"):
        scope()(function)


def test_what_begins_afresh_each_time_goes_around_plain_functions():
    @rank_context()
    def slope():
        x = jt.array([3.0])
        return jt.grad((x * x).sum(), x).item()

    @jt.fork_rng()
    def draws():
        return jt.rand(2).tolist()

    assert slope() == 6.0
    assert draws() == draws()
    assert jt.trace()(jt.ones)(2).tolist() == [1.0, 1.0]


def test_an_allocator_makes_room_in_each_step_of_a_generator_and_not_between():
    mine = jt.PlainAllocator()

    @jt.allocator(mine)
    def steps():
        for _ in range(2):
            yield pool.allocator

    given = steps()
    before = pool.allocator

    assert [(next(given), pool.allocator) for _ in range(2)] == [(mine, before)] * 2


def test_a_generator_of_calls_without_talk_is_one_in_each_step():
    def program():
        jt.distributed.init_process_group()
        net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))

        @net.no_sync()
        def alone():
            for _ in range(2):
                net(jt.array([[1.0 + jt.rank]])).sum().backward()
                yield net.module.weight.grad.item()

        steps = alone()
        seen = [next(steps), next(steps)]
        net(jt.array([[10.0]])).sum().backward()
        return seen, net.module.weight.grad.item()

    assert jt.simulate(2)(program) == [([1.0, 2.0], 13.0), ([2.0, 4.0], 13.0)]
