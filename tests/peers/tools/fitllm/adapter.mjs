// SPDX-License-Identifier: MIT
// Its engine reads a Hugging Face config and counts cache and linear-attention state for one device.
import {createInterface} from "node:readline";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const require = createRequire(process.cwd() + "/");
const {parseHfConfig, calcKVCache, calcLinearState} = await import(pathToFileURL(require.resolve("fitllm")));

function bytesOf(one, tokens) {
    const config = {torch_dtype: "bfloat16", ...one.config};
    const model = parseHfConfig(`${one.model}-7b`, config, undefined, undefined);
    const bits = one.formats.kv === "fp8" ? 8 : 16;
    return calcKVCache(model, tokens, bits).totalBytes + calcLinearState(model).totalBytes;
}

function answer(one) {
    if (!["bytes", "depth"].includes(one.kind) || !one.config || (one.tp ?? 1) > 1 || (one.cp ?? 1) > 1 || one.pp_layers) {
        return {unsupported: "not a config on one device"};
    }
    if (one.kind === "depth") {
        return {rank_bytes: one.lengths.map((n) => bytesOf(one, n))};
    }
    return {rank_bytes: [bytesOf(one, one.tokens) * (one.sequences ?? 1)]};
}

for await (const line of createInterface({input: process.stdin})) {
    let got;
    try {
        got = answer(JSON.parse(line));
    } catch (wrong) {
        got = {unsupported: String(wrong.message).slice(0, 200)};
    }
    process.stdout.write(JSON.stringify(got) + "\n");
}
