// Ask: how does a view put a question to Python, and what does it hear when nobody answers?
//
//     const reply = await ask({do: "run", kernel: key})      Python: View.answer({"do": "run", "kernel": key}) -> dict
//
// A question and its answer carry the same number, so that several may be under way. What Python says unasked has none:
//
//     const off = hear(message => ...)                       Python: view.send({"rows": [...]})
//
// Nothing here knows what is asked or said.

/** @import { Message, Model } from "./types.js" */

const SECONDS = 10;
export const NO_KERNEL = "This needs a running kernel: open the notebook, and run the cell that made this view.";

/**
 * @param {Model} model
 * @param {boolean} live whether there is a Python at all
 * @returns {{ask: (message: Message, seconds?: number) => Promise<Message>, close: () => void,
 *     hear: (listener: (message: Message) => void) => () => void}}
 */
export function makeAsk(model, live) {
    /** @type {Map<string, (reply: Message) => void>} */
    const waiting = new Map();
    let number = 0;
    const own = Math.random().toString(36).slice(2); // two renders of one model hear the same answers
    /** @type {Set<(message: Message) => void>} */
    const listeners = new Set();
    /** @param {Message} content */
    const hear = (content) => {
        if (typeof content !== "object" || content === null) return;
        if (!("id" in content)) for (const listener of [...listeners]) listener(content);
        else waiting.get(`${content.id}`)?.(content);
    };
    model.on("msg:custom", hear);
    const ask = (/** @type {Message} */ message, seconds = SECONDS) => {
        const id = `${own}-${(number += 1)}`;
        const answer = answerTo(id, waiting, seconds);
        model.send({ id, ask: message });
        return answer;
    };
    return {
        ask: (message, seconds) => (live ? ask(message, seconds) : Promise.reject(new Error(NO_KERNEL))),
        hear(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
        },
        close() {
            model.off("msg:custom", hear);
            for (const finish of [...waiting.values()]) finish({ error: "The view closed before Python answered." });
        },
    };
}

/**
 * What will answer a question; after so many seconds an error does.
 * @param {string} id
 * @param {Map<string, (reply: Message) => void>} waiting
 * @param {number} seconds
 * @returns {Promise<Message>}
 */
function answerTo(id, waiting, seconds) {
    return new Promise((resolve, reject) => {
        const end = setTimeout(() => finish({ error: silence(seconds) }), seconds * 1000);
        /** @param {Message} content */
        const finish = (content) => {
            clearTimeout(end);
            waiting.delete(id);
            if (typeof content.error === "string") reject(new Error(content.error));
            else resolve(/** @type {Message} */ (content.reply ?? {}));
        };
        waiting.set(id, finish);
    });
}

/**
 * @param {number} seconds
 * @returns {string}
 */
function silence(seconds) {
    return (
        `Python did not answer within ${seconds} seconds. The kernel may be busy with a cell, or it has ended; ` +
        "when it is idle again, try again, or run the cell that made this view."
    );
}
