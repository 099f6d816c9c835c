// SPDX-License-Identifier: MIT
// node assemble.mjs PAGE_FOLDER GLUE.js MODULE.wasm GPUS.json OUT.html: everything in one file that needs no server.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [folder, glue, module, gpus, out] = process.argv.slice(2);
const read = (name) => readFileSync(join(folder, name), "utf8");

/// A module's imports first, each module once; every module becomes a function scope that returns what it exports.
function bundle(entry) {
  const done = new Map();
  const visit = (name, path) => {
    if (path.includes(name)) throw new Error(`${[...path, name].join(" -> ")}: modules that need each other`);
    if (done.has(name)) return;
    const text = read(name);
    for (const found of text.matchAll(/^import [^;]* from "\.\/(.+)";$/gm)) visit(found[1], [...path, name]);
    done.set(name, scope(name, text));
  };
  visit(entry, []);
  return `const modules = {};\n${[...done.values()].join("")}`;
}

function scope(name, text) {
  const exported = [...text.matchAll(/^export (?:async )?(?:function|const) (\w+)/gm)].map(
    (found) => found[1],
  );
  const body = text
    .replace(
      /^import (\{[^;]*\}) from "\.\/(.+)";$/gm,
      (_, names, from) => `const ${names} = modules["${from}"];`,
    )
    .replace(/^export /gm, "");
  return `modules["${name}"] = (() => {\n${body}\nreturn { ${exported.join(", ")} };\n})();\n`;
}

const parts = {
  style: read("style.css"),
  module: gzipSync(readFileSync(module), { level: 9 }).toString("base64"),
  gpus: JSON.stringify(
    JSON.parse(readFileSync(gpus, "utf8")).gpus.map(({ name, title }) => ({ name, title })),
  ),
  glue: readFileSync(glue, "utf8"),
  scripts: bundle("main.js"),
};
for (const name of ["glue", "scripts", "gpus"])
  parts[name] = parts[name].replaceAll("</script", "<\\/script");
const page = read("page.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(out, page);
console.log(`${out}: ${page.length.toLocaleString("en-US")} bytes`);
