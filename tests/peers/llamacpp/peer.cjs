// SPDX-License-Identifier: MIT
// peer.cjs NODE_FOLDER CASES_FOLDER: loads each header in the real engine (a process each, since it may abort), makes the
// contexts that are asked for, and compares every `size =` line it logs.
"use strict";
const fs = require("fs");
const path = require("path");
const {spawnSync} = require("child_process");

const [, , nodeFolder, casesFolder, only] = process.argv;
const binaries = path.join(nodeFolder, "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");
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

function engine() {
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

async function load({addon, log}, bytes) {
    log.length = 0;
    const metadata = new addon.AddonGgufMetadata();
    await metadata.init([bytes]);
    const model = new addon.AddonModel("", {noAlloc: true, useMmap: false, useMlock: false, gpuLayers: 0,
                                            addonExports: addon});
    let ok = false;
    try {
        ok = await model.init(metadata);
    } catch (error) {
        log.push(String(error));
    }
    await tick();
    return ok ? model : null;
}

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

// Loads, and adds or corrects tensors as the engine says, until it is content.
async function loadByAsking(run, header, end) {
    const tensors = [{name: "token_embd.weight", shape: [1]}];
    for (let i = 0; i < most_tries; ++i) {
        const model = await load(run, withTensors(header, end, tensors));
        if (model) {
            return model;
        }
        const text = run.log.join("");
        const missing = text.match(/missing tensor '([^']+)'/);
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
    throw new Error("more tensors than tries");
}

async function contextLines({addon, log}, model, flags) {
    log.length = 0;
    const {flash, ...options} = flags;
    const context = new addon.AddonContext(model, {...options,
                                                   flashAttention: flash === "auto" ? "auto" : flash === "on"});
    let ok = false;
    try {
        ok = await context.init();
    } catch {
        ok = false;
    }
    await tick();
    const lines = log.join("").split("\n").filter((line) => / size = .* cells,/.test(line))
        .map((line) => line.replace(/^[^:]*: /, ""));
    if (ok) {
        await context.dispose();
    }
    return ok ? {lines} : {refused: log.join("").split("\n").filter((line) => line).slice(-1)[0] ?? "refused"};
}

// One model in its own process; a line of JSON per answer.
async function child(id) {
    const one = JSON.parse(fs.readFileSync(path.join(casesFolder, "cases.json"))).find((model) => model.id === id);
    const run = engine();
    await run.addon.init();
    const say = (what) => fs.writeSync(1, JSON.stringify(what) + "\n");
    let model;
    try {
        model = await loadByAsking(run, fs.readFileSync(path.join(casesFolder, id + ".gguf")), one.end);
    } catch (error) {
        say({load: error.message});
        process.exit(0);
    }
    for (const asked of one.asked) {
        say(await contextLines(run, model, asked.flags));
    }
    process.exit(0);
}

const squeeze = (lines) => lines.map((line) => line.replace(/\s+/g, " ").replace(/\( /g, "(").trim());

function compare(model, answers, totals) {
    model.asked.forEach((asked, i) => {
        const got = answers[i];
        const name = `${model.id} ${JSON.stringify(asked.flags)}`;
        if (!got || got.load) {
            ++totals.skipped;
            console.log(`skipped: ${model.id}: ${got ? got.load : "the engine aborts"}`);
        } else if (Boolean(got.refused) !== Boolean(asked.refused)) {
            ++totals.different;
            console.log(`DIFFERENT ${name}: want ${asked.refused ?? "a context"}, got ${got.refused ?? "a context"}`);
        } else if (got.refused) {
            ++totals.refused;
        } else {
            const want = squeeze(asked.lines).join("\n");
            const have = squeeze(got.lines).join("\n");
            want === have ? ++totals.equal : ++totals.different;
            totals.lines += asked.lines.length;
            if (want !== have) {
                console.log(`DIFFERENT ${name}\n  want ${want}\n  got  ${have}`);
            }
        }
    });
}

function main() {
    const models = JSON.parse(fs.readFileSync(path.join(casesFolder, "cases.json")));
    const totals = {equal: 0, refused: 0, different: 0, skipped: 0, lines: 0};
    const compared = new Set();
    for (const model of models) {
        const before = totals.equal + totals.refused;
        const run = spawnSync(process.execPath, [__filename, nodeFolder, casesFolder, model.id],
                              {encoding: "utf8", timeout: 120000});
        const answers = run.stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
        compare(model, answers.length && answers[0].load ? model.asked.map(() => answers[0]) : answers, totals);
        if (totals.equal + totals.refused > before) {
            compared.add(model.id);
        }
    }
    console.log(`${compared.size} models: ${totals.equal} contexts equal (${totals.lines} lines compared), ` +
                `${totals.refused} refused by both, ${totals.different} different, ${totals.skipped} skipped`);
    process.exit(totals.different === 0 && totals.equal > 0 ? 0 : 1);
}

only ? child(only) : main();
