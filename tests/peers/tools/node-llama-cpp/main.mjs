// SPDX-License-Identifier: MIT
// Its own arithmetic (not the engine it ships): caches of a GGUF file, one question a line as gguf-parser/main.go's.
import {createInterface} from "node:readline";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const require = createRequire(process.cwd() + "/");
const {readGgufFileInfo, GgufInsights} = await import(pathToFileURL(require.resolve("node-llama-cpp")));

async function bytesOf(q) {
    const insights = await GgufInsights.from(await readGgufFileInfo(q.path, {readTensorInfo: true, logWarnings: false}));
    let split = null;
    const inner = insights._estimateContextCacheMemorySplitInBytes.bind(insights);
    insights._estimateContextCacheMemorySplitInBytes = (options) => (split = inner(options));
    insights.estimateContextResourceRequirements({
        contextSize: Math.ceil(q.ctx / q.parallel), modelGpuLayers: 0, batchSize: q.ubatch, sequences: q.parallel,
        flashAttention: q.flash, swaFullCache: q.swa_full, kvCacheKeyType: q.type_k, kvCacheValueType: q.type_v
    });
    return split.gpuKVCacheSize + split.cpuKVCacheSize + split.gpuRecurrentStateSize + split.cpuRecurrentStateSize;
}

for await (const line of createInterface({input: process.stdin})) {
    let got;
    try {
        got = {bytes: await bytesOf(JSON.parse(line))};
    } catch (wrong) {
        got = {error: String(wrong.message).slice(0, 200)};
    }
    process.stdout.write(JSON.stringify(got) + "\n");
}
process.exit(0);
