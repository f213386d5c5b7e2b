// build.mjs hands a style sheet to its importer as text.

declare module "*.css" {
    const text: string;
    export default text;
}
