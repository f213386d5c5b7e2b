// Build: src/ -> ../jt_widgets/static/jt.js, all views in one module of parts.
//
//     node build.mjs               writes the committed module
//     node build.mjs OTHER.js      writes another file (a test compares the bytes)
//     node build.mjs --sizes       says how large it is, and what each file adds
//
// esbuild makes one minified module, in which every file is a stretch of its own. Before each stretch stands a comment
// that says which views need it, or * where all do: jt_widgets/bundle.py keeps what the view at hand needs, since every
// live view and every page carries its module along. A style sheet is a file like any other: it puts its text into
// src/sheets.js.

import { readFile, writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const [ENTRY, VIEW] = ["src/index.js", /^src\/views\/(\w+)\.js$/];
const MARK = /\/\*! (\S+) \*\/\n?/g;

const place = (path) => relative(HERE, path).replaceAll("\\", "/");

const marked = {
    name: "marked",
    setup(build) {
        const mark = (path, text) => ({ contents: `/*! ${place(path)} */\n${text}`, loader: "js" });
        build.onLoad({ filter: /\.js$/ }, async ({ path }) => mark(path, await readFile(path, "utf8")));
        build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
            const { code } = await esbuild.transform(await readFile(path, "utf8"), { loader: "css", minify: true });
            const given = [`${HERE}src/sheets.js`, place(path), code.trim()];
            const [sheets, name, text] = given.map((one) => JSON.stringify(one));
            return mark(path, `import { sheets } from ${sheets};\nsheets.set(${name}, ${text});`);
        });
    },
};

/** Files that a file needs, itself among them; views count only where one is begun with. */
function reached(inputs, from, found = new Set()) {
    if (found.has(from)) return found;
    found.add(from);
    for (const { path } of inputs[from].imports) {
        if (from !== ENTRY || !VIEW.test(path)) reached(inputs, path, found);
    }
    return found;
}

const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    format: "esm",
    charset: "utf8",
    target: "es2022",
    legalComments: "inline",
    metafile: true,
    write: false,
    plugins: [marked],
});

const { inputs } = metafile;
const common = reached(inputs, ENTRY);
const views = Object.keys(inputs).filter((path) => VIEW.test(path)).sort();
const needs = new Map(views.map((path) => [VIEW.exec(path)[1], reached(inputs, path)]));
const wanted = (path) => [...needs].flatMap(([view, files]) => (files.has(path) ? [view] : [])).join(" ");

let last = "";
const text = outputFiles[0].text.replace(MARK, (_, path) => {
    const now = common.has(path) ? "*" : wanted(path);
    const line = now === last ? "" : `/*! ${now} */`;
    last = now;
    return line && `\n${line}\n`;
});

if (process.argv[2] === "--sizes") {
    const stretches = outputFiles[0].text.split(MARK).slice(1);
    const rows = stretches.flatMap((path, k) => (k % 2 ? [] : [[stretches[k + 1].length, path]]));
    for (const [size, path] of rows.sort((a, b) => b[0] - a[0])) {
        console.log(`${size}`.padStart(8), path.padEnd(32), common.has(path) ? "*" : wanted(path));
    }
    console.log(`${text.length} letters`);
} else {
    await writeFile(process.argv[2] ?? new URL("../jt_widgets/static/jt.js", import.meta.url), `${text.trim()}\n`);
}
