// SPDX-License-Identifier: MIT
// The real llama.cpp inside node-llama-cpp, by its addon, and GGUF files whose tensor lists the engine itself dictates.
"use strict";
const path = require("path");

const most_tries = 6000;

// The header with a list of f32 tensors after its metadata.
function withTensors(header, end, tensors) {
    const head = Buffer.from(header.subarray(0, end));
    head.writeBigUInt64LE(BigInt(tensors.length), 8);
    const parts = [head];
    let offset = 0n;
    for (const {name, shape} of tensors) {
        const text = Buffer.from(name);
        const info = Buffer.alloc(8 + text.length + 4 + 8 * shape.length + 12);
        info.writeBigUInt64LE(BigInt(text.length), 0);
        text.copy(info, 8);
        let at = 8 + text.length;
        at = info.writeUInt32LE(shape.length, at);
        let elements = 1n;
        for (const size of shape) {
            at = info.writeBigUInt64LE(BigInt(size), at);
            elements *= BigInt(size);
        }
        at = info.writeUInt32LE(0, at);
        info.writeBigUInt64LE(offset, at);
        offset += ((elements * 4n + 31n) / 32n) * 32n;
        parts.push(info);
    }
    const all = Buffer.concat(parts);
    return Buffer.concat([all, Buffer.alloc((32 - (all.length % 32)) % 32)]);
}

function engine(nodeFolder) {
    const binaries = path.join(nodeFolder, "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");
    const addon = require(path.join(binaries, "llama-addon.node"));
    const log = [];
    addon.markLoaded();
    addon.setLogger((level, message) => log.push(message));
    addon.setLoggerLogLevel(5);
    addon.loadBackends();
    if (addon.getGpuType() == null) {
        addon.loadBackends(binaries);
    }
    return {addon, log};
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 1));

// A tensor that the engine misses, as the same one of an earlier block if there is one.
function missed(name, tensors) {
    const [, block, rest] = name.match(/^blk\.(\d+)\.(.*)$/) ?? [];
    for (let i = Number(block) - 1; i >= 0; --i) {
        const earlier = tensors.find((tensor) => tensor.name === `blk.${i}.${rest}`);
        if (earlier) {
            return {name, shape: [...earlier.shape]};
        }
    }
    return {name, shape: [1]};
}

// Adds or corrects a tensor as the engine's last words ask; throws when they are about something else.
function amend(tensors, text) {
    const missing = text.match(/missing tensor '([^']+)'/) ?? text.match(/tensor '([^']+)' not found/);
    const wrong = text.match(/tensor '([^']+)' has wrong shape; expected\s+([\d, ]+), got/);
    if (missing) {
        tensors.push(missed(missing[1], tensors));
    } else if (wrong) {
        const shape = wrong[2].split(",").map(Number);
        while (shape.length > 1 && shape[shape.length - 1] === 1) {
            shape.pop();
        }
        tensors.find((tensor) => tensor.name === wrong[1]).shape = shape;
    } else {
        throw new Error(text.split("\n").filter((line) => /error/i.test(line)).slice(-1)[0] ?? "does not load");
    }
}

// Loads again and again with `load_once(tensors)` (a model or null) until the engine is content.
async function loadByAsking(log, load_once) {
    const tensors = [{name: "token_embd.weight", shape: [1]}];
    for (let i = 0; i < most_tries; ++i) {
        log.length = 0;
        const model = await load_once(tensors);
        await tick();
        if (model) {
            return {model, tensors};
        }
        amend(tensors, log.join(""));
    }
    throw new Error("more tensors than tries");
}

// Weightless, from a header in memory: shapes are the engine's own then.
async function loadHeader({addon, log}, header, end) {
    return loadByAsking(log, async (tensors) => {
        const metadata = new addon.AddonGgufMetadata();
        await metadata.init([withTensors(header, end, tensors)]);
        return started(addon, log, "", {noAlloc: true, useMlock: false}, metadata);
    });
}

async function started(addon, log, file, options, metadata) {
    const model = new addon.AddonModel(file, {useMmap: false, gpuLayers: 0, addonExports: addon, ...options});
    try {
        return (await (metadata ? model.init(metadata) : model.init())) ? model : null;
    } catch (error) {
        log.push(String(error));
        return null;
    }
}

module.exports = {engine, loadByAsking, loadHeader, started, tick, withTensors};
