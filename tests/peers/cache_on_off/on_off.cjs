// SPDX-License-Identifier: MIT
// on_off.cjs NODE_FOLDER GOLDEN_REUSE.json WORK: small random models through the real engine, greedy, 20 prompts each: once
// with every prompt computed from its first token, once continuing from the common prefix with the prompt before. The
// generated ids must be the same; where they are not, the prompt, the place and the two ids are shown.
"use strict";
const fs = require("fs");
const path = require("path");
const {spawnSync} = require("child_process");

const {engine, loadByAsking, started, withTensors} = require("../llamacpp/engine.cjs");

const [, , nodeFolder, golden, work, only] = process.argv;
const prompts = 20;
const generated = 8;
const seed = Number(process.env.KVCAP_SEED ?? 1);

function random_from(start) {
    let state = BigInt(start) * 2862933555777941757n + 3037000493n;
    return () => {
        state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
        return Number(state >> 40n) / 2 ** 24;
    };
}

// Metadata of whole numbers (u32), fractions (f32), texts and lists of whole numbers.
function keysOf(metadata) {
    const text = (value) => {
        const bytes = Buffer.from(value);
        const size = Buffer.alloc(8);
        size.writeBigUInt64LE(BigInt(bytes.length));
        return Buffer.concat([size, bytes]);
    };
    const u32 = (value) => {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32LE(value);
        return bytes;
    };
    const f32 = (value) => {
        const bytes = Buffer.alloc(4);
        bytes.writeFloatLE(value);
        return bytes;
    };
    const parts = Object.entries(metadata).map(([key, value]) => {
        if (Array.isArray(value)) {
            return Buffer.concat([text(key), u32(9), u32(4), u32(value.length), u32(0), ...value.map(u32)]);
        }
        if (typeof value === "string") {
            return Buffer.concat([text(key), u32(8), text(value)]);
        }
        const whole = Number.isInteger(value);
        return Buffer.concat([text(key), u32(whole ? 4 : 6), whole ? u32(value) : f32(value)]);
    });
    const head = Buffer.concat([Buffer.from("GGUF"), u32(3), u32(0), u32(0), u32(parts.length), u32(0)]);
    return Buffer.concat([head, ...parts]);
}

// The file with weights: norms 1, decays negative, all else small and random.
function withWeights(header, tensors, random) {
    const data = tensors.map(({name, shape}) => {
        const elements = shape.reduce((product, size) => product * size, 1);
        const values = new Float32Array(Math.ceil(elements / 8) * 8);
        const scale = 1.5 / Math.sqrt(shape[0]);
        for (let i = 0; i < elements; ++i) {
            values[i] = /norm/.test(name) ? 1 : /ssm_a$/.test(name) ? -random() : (random() - 0.5) * 2 * scale;
        }
        return Buffer.from(values.buffer);
    });
    return Buffer.concat([withTensors(header, header.length, tensors), ...data]);
}

// Prompts of a growing and branching conversation: most continue an earlier one, some repeat, cut or leave it.
function makePrompts(random, vocabulary) {
    const fresh = (count) => Array.from({length: count}, () => 1 + Math.floor(random() * (vocabulary - 1)));
    const all = [fresh(60)];
    while (all.length < prompts) {
        const from = all[random() < 0.5 ? all.length - 1 : Math.floor(random() * all.length)];
        const kind = random();
        all.push(kind < 0.15 ? [...from]
                 : kind < 0.3 ? fresh(40 + Math.floor(random() * 120))
                 : kind < 0.5 ? [...from.slice(0, Math.ceil(from.length * random())), ...fresh(30)]
                 : [...from, ...fresh(1 + Math.floor(random() * 60))].slice(0, 480));
    }
    return all;
}

class Runner {
    constructor(addon, model, context, window) {
        Object.assign(this, {addon, context, window, held: [], saved: null});
        this.sampler = new addon.AddonSampler(model);
        this.sampler.applyConfig({temperature: 0});
        context.initBatch(64);
    }
    clear() {
        this.context.disposeSequence(0);
        this.held = [];
    }
    async decode(tokens) {
        let at;
        for (let begin = 0; begin < tokens.length; begin += 64) {
            const part = tokens.slice(begin, begin + 64);
            const last = begin + part.length === tokens.length;
            this.context.initBatch(part.length);
            [at] = this.context.addToBatch(0, this.held.length, Uint32Array.from(part),
                                           Uint32Array.from(last ? [part.length - 1] : []));
            await this.context.decodeBatch();
            this.held.push(...part);
        }
        return at;
    }
    // How much of the prompt stays: a window must still hold what its next token sees, a state cannot go back.
    keep(prompt) {
        let n = 0;
        while (n < this.held.length && n < prompt.length && this.held[n] === prompt[n]) {
            ++n;
        }
        n = Math.min(n, prompt.length - 1);
        const first = n > 0 ? this.context.getSequenceKvCacheMinPosition(0) : 0;
        const reaches = this.window === 0 || first === 0 || first <= n - this.window;
        if (n === 0 || !reaches || (n < this.held.length && !this.context.removeTokenCellsFromSequence(0, n, -1))) {
            return this.goBack(prompt);
        }
        this.held.length = n;
        return n;
    }
    // To the checkpoint taken one token before the end of the last prompt, if this prompt begins with its tokens.
    async goBack(prompt) {
        const saved = this.saved;
        const begins = saved && saved.tokens.length < prompt.length && saved.tokens.every((id, i) => id === prompt[i]);
        if (begins && (await this.context.restoreCheckpoint(saved.state, saved.tokens.length - 1, 0)) &&
            this.context.removeTokenCellsFromSequence(0, saved.tokens.length, -1)) {
            this.held = [...saved.tokens];
            return this.held.length;
        }
        this.clear();
        return 0;
    }
    async takeCheckpoint() {
        const state = new this.addon.AddonContextSequenceCheckpoint();
        await state.init(this.context, 0);
        this.saved = {state, tokens: [...this.held]};
    }
    async answer(prompt, reuse) {
        let kept = 0;
        reuse ? (kept = await this.keep(prompt)) : this.clear();
        const ids = [];
        if (kept < prompt.length - 1) {
            await this.decode(prompt.slice(kept, -1));
        }
        if (reuse) {
            await this.takeCheckpoint();
        }
        let at = await this.decode(prompt.slice(-1));
        while (ids.length < generated) {
            const id = await this.context.sampleToken(at, this.sampler);
            ids.push(id);
            at = await this.decode([id]);
        }
        return {ids, kept};
    }
}

async function child(name) {
    const run = JSON.parse(fs.readFileSync(golden)).runs.find((one) => one.model === name);
    const arch = run.metadata["general.architecture"];
    const metadata = {...run.metadata, "tokenizer.ggml.model": "none", [`${arch}.vocab_size`]: 256};
    const header = keysOf(metadata);
    const real = engine(nodeFolder);
    await real.addon.init();
    const file = path.join(work, `${name}.gguf`);
    const {model} = await loadByAsking(real.log, (tensors) => {
        fs.writeFileSync(file, withWeights(header, tensors, random_from(seed)));
        return started(real.addon, real.log, file, {});
    });
    const random = random_from(seed + 1000);
    const asked = makePrompts(random, 256);
    const answers = {};
    for (const reuse of [false, true]) {
        const context = new real.addon.AddonContext(model, {contextSize: 1024, batchSize: 64, sequences: 1, threads: 1,
                                                            flashAttention: "auto"});
        await context.init();
        const runner = new Runner(real.addon, model, context, run.window);
        answers[reuse] = [];
        for (const prompt of asked) {
            answers[reuse].push(await runner.answer(prompt, reuse));
        }
        await context.dispose();
    }
    fs.writeSync(1, JSON.stringify({asked: asked.map((prompt) => prompt.length), off: answers.false, on: answers.true}));
    process.exit(0);
}

function main() {
    const names = [...new Set(JSON.parse(fs.readFileSync(golden)).runs.map((run) => run.model))];
    let different = 0;
    let compared = 0;
    console.log(`seed ${seed}; ${prompts} prompts, ${generated} ids each`);
    for (const name of names) {
        const run = spawnSync(process.execPath, [__filename, nodeFolder, golden, work, name],
                              {encoding: "utf8", timeout: 120000});
        if (!run.stdout.startsWith("{")) {
            console.log(`skipped: ${name}: ${run.stderr.split("\n").filter((line) => line).slice(-1)[0] ?? "aborts"}`);
            continue;
        }
        const {asked, off, on} = JSON.parse(run.stdout);
        const wrong = off.map((answer, i) => answer.ids.findIndex((id, k) => id !== on[i].ids[k]));
        const kept = on.reduce((sum, answer) => sum + answer.kept, 0);
        const all = asked.reduce((sum, length) => sum + length, 0);
        compared += off.length;
        different += wrong.filter((place) => place >= 0).length;
        console.log(`${name}: ${wrong.filter((place) => place < 0).length} of ${off.length} prompts alike; ` +
                    `${kept} of ${all} prompt tokens kept`);
        wrong.forEach((place, i) => place >= 0 &&
            console.log(`  prompt ${i} (${asked[i]} tokens, ${on[i].kept} kept): id ${place}: ` +
                        `${off[i].ids[place]} without, ${on[i].ids[place]} with the cache`));
    }
    console.log(`${compared - different} of ${compared} prompts give the same ids`);
    process.exit(different === 0 && compared > 0 ? 0 : 1);
}

only ? child(only).catch((error) => { console.error(error.message); process.exit(1); }) : main();
