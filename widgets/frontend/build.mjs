// Build: src/ -> ../jt_widgets/static/jt.js, one module for all views.
//
//     node build.mjs               writes the committed module
//     node build.mjs OTHER.js      writes another file (a test compares the bytes)
//     node build.mjs --sizes       says how large it is, and what each file adds
//
// esbuild makes one minified module; a style sheet travels inside of it as text. Every live view carries the module
// along, so it is packed (deflate, in base64) behind three lines that unpack it in the browser. zopfli packs: it
// finds the shortest form, and the same bytes under every version of Node.

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import zopfli from "@gfx/zopfli";
import * as esbuild from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));

const styleAsText = {
    name: "style as text",
    setup(build) {
        build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
            const wanted = { entryPoints: [path], bundle: true, minify: true, write: false };
            const { outputFiles } = await esbuild.build(wanted);
            return { contents: outputFiles[0].text.trim(), loader: "text" };
        });
    },
};

const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: ["src/index.js"],
    bundle: true,
    minify: true,
    format: "esm",
    charset: "utf8",
    target: "es2022",
    legalComments: "none",
    metafile: true,
    write: false,
    plugins: [styleAsText],
});

// The first line is what jt_widgets/bundle.py takes for a saved page, which unpacks it in its own way.
const pack = (short) => `const packed = "${Buffer.from(short).toString("base64")}";
const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
export default (await import(address).finally(() => URL.revokeObjectURL(address))).default;
`;

const [{ contents }] = outputFiles;
const packed = pack(await zopfli.deflateAsync(contents, { numiterations: 5 }));
if (process.argv[2] === "--sizes") {
    const [{ inputs }] = Object.values(metafile.outputs);
    const rows = Object.entries(inputs).sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
    for (const [path, { bytesInOutput }] of rows) console.log(`${bytesInOutput}`.padStart(8), path);
    console.log(`${contents.length} bytes, ${packed.length} packed`);
} else {
    await writeFile(process.argv[2] ?? new URL("../jt_widgets/static/jt.js", import.meta.url), packed);
}
