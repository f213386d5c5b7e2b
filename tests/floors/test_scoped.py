"""Scopes around functions that stop in the middle, and go on later."""

import asyncio
import inspect

import pytest

import jt_edu as jt


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
    assert asyncio.run(both()) == [(False, False), [True] * 3, (False, False)]
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


def test_an_error_inside_comes_through():
    @jt.no_grad
    async def fails():
        await asyncio.sleep(0)
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        asyncio.run(fails())
    assert jt.is_grad_enabled()
