// build.mjs makes a module of a style sheet, which puts it where sheets.js says.

declare module "*.css" {}
