// The program kvcap in this page: the arguments of a command line in, what it would print out.
import { parseExact } from "./numbers.js";

let module = null;

async function inflated(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/// Starts the module whose compressed bytes stand in the page.
export async function startProgram(make) {
  const text = document.getElementById("kvcap-module").textContent.trim();
  module = await make({
    wasmBinary: await inflated(text),
    stdin: () => null,
    print: () => {},
    printErr: () => {},
  });
}

/// {code, out, err} of `kvcap ARGUMENTS...`.
export function run(args) {
  const text = JSON.stringify(args);
  const size = module.lengthBytesUTF8(text) + 1;
  const at = module._malloc(size);
  try {
    module.stringToUTF8(text, at, size);
    return JSON.parse(module.UTF8ToString(module._kvcap_run(at)));
  } finally {
    module._free(at);
  }
}

/// The answer of a verb with --json: {code, json, error}. `error` is the program's own sentence.
export function ask(args) {
  const { code, out, err } = run(args);
  const json = out.startsWith("{") ? parseExact(out) : null;
  return { code, json, error: json ? "" : sentence(err) || `exit code ${code}` };
}

/// What stands on stderr, without the program's name and the hint for a terminal.
export function sentence(err) {
  return err
    .replace(/^kvcap: /gm, "")
    .replace(/^Try: kvcap .*$/gm, "")
    .trim();
}

/// Puts bytes where the program can read them as a file, and returns the path.
export function writeFile(name, bytes) {
  const path = "/tmp/" + (name.replace(/[^\w.-]+/g, "_").slice(-100) || "model");
  module.FS.writeFile(path, bytes);
  return path;
}

export function removeFile(path) {
  try {
    module.FS.unlink(path);
  } catch {
    // it was never written
  }
}
