// Ask: every question gets its own answer, an error's words, or a sentence after a while.

import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_KERNEL, makeAsk } from "../src/ask.js";

function model() {
    const hearers = new Set();
    return {
        sent: [],
        hearers,
        on: (_, hear) => hearers.add(hear),
        off: (_, hear) => hearers.delete(hear),
        send(content) { this.sent.push(content); },
        say(content) { for (const hear of [...hearers]) hear(content); },
    };
}

test("answers find their questions, in any order", async () => {
    const one = model();
    const { ask, close } = makeAsk(one, true);
    const [first, second] = [ask({ do: "a" }), ask({ do: "b" })];

    one.say({ id: one.sent[1].id, reply: { n: 2 } });
    one.say({ id: one.sent[0].id, reply: { n: 1 } });

    assert.deepEqual(await Promise.all([first, second]), [{ n: 1 }, { n: 2 }]);
    assert.deepEqual(one.sent.map((sent) => sent.ask), [{ do: "a" }, { do: "b" }]);
    close();
    assert.equal(one.hearers.size, 0);
});

test("an error is told in its words", async () => {
    const one = model();
    const answer = makeAsk(one, true).ask({});

    one.say({ id: one.sent[0].id, error: "RangeError: axis 3 of 2" });

    await assert.rejects(answer, /^Error: RangeError: axis 3 of 2$/);
});

test("what is no answer to an open question changes nothing", async () => {
    const one = model();
    const answer = makeAsk(one, true).ask({});
    const id = one.sent[0].id;

    for (const noise of [null, undefined, 3, {}, { id: "other", reply: {} }]) one.say(noise);
    one.say({ id, reply: { n: 1 } });
    one.say({ id, reply: { n: 2 } });

    assert.deepEqual(await answer, { n: 1 });
});

test("two renders of one model do not take each other's answers", async () => {
    const one = model();
    const [a, b] = [makeAsk(one, true).ask({ from: "a" }), makeAsk(one, true).ask({ from: "b" })];
    const [first, second] = one.sent.map((sent) => sent.id);
    assert.notEqual(first, second);

    one.say({ id: second, reply: { to: "b" } });
    one.say({ id: first, reply: { to: "a" } });

    assert.deepEqual([await a, await b], [{ to: "a" }, { to: "b" }]);
});

test("silence ends with a sentence", async () => {
    await assert.rejects(makeAsk(model(), true).ask({}, 0.02), /Python did not answer within 0.02 seconds/);
});

test("without a kernel the question is not even sent", async () => {
    const one = model();

    await assert.rejects(makeAsk(one, false).ask({}), { message: NO_KERNEL });

    assert.deepEqual(one.sent, []);
});

test("a view that closes lets nobody wait", async () => {
    const { ask, close } = makeAsk(model(), true);
    const answer = ask({});

    close();

    await assert.rejects(answer, /closed before Python answered/);
});

test("what Python says unasked goes to who listens", () => {
    const one = model();
    const { hear } = makeAsk(one, true);
    const heard = [];
    const off = hear((message) => heard.push(message));

    one.say({ step: 1 });
    one.say({ id: "an answer", reply: {} });
    off();
    one.say({ step: 2 });

    assert.deepEqual(heard, [{ step: 1 }]);
});
