// Sheets: which style sheets did the files of this module bring along?
//
// `import "./ranks.css"` puts that sheet here, by the name of its file (build.mjs sees to it), and style.js gives them
// to the page. A view brings its own, so that a page carries only those of the view that it shows.

/** @type {Map<string, string>} */
export const sheets = new Map();
