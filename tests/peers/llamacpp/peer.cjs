// SPDX-License-Identifier: MIT
// peer.cjs NODE_FOLDER CASES_FOLDER: loads each header in the real engine (a process each, since it may abort), makes the
// contexts that are asked for, and compares every `size =` line it logs.
"use strict";
const fs = require("fs");
const path = require("path");
const {spawnSync} = require("child_process");

const {engine, loadHeader, tick} = require("./engine.cjs");

const [, , nodeFolder, casesFolder, only] = process.argv;

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
    const run = engine(nodeFolder);
    await run.addon.init();
    const say = (what) => fs.writeSync(1, JSON.stringify(what) + "\n");
    let model;
    try {
        ({model} = await loadHeader(run, fs.readFileSync(path.join(casesFolder, id + ".gguf")), one.end));
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

function compare(model, answers, aborted, totals) {
    model.asked.forEach((asked, i) => {
        const got = answers[i];
        const name = `${model.id} ${JSON.stringify(asked.flags)}`;
        if (!got || got.load) {
            ++totals.skipped;
            console.log(`skipped: ${model.id}: ${got ? got.load : aborted}`);
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
        const assertion = run.stderr.match(/[\w.-]+:\d+: GGML_ASSERT.*/);
        const aborted = `the engine aborts${assertion ? ` (${assertion[0]})` : run.signal ? ` (${run.signal})` : ""}`;
        compare(model, answers.length && answers[0].load ? model.asked.map(() => answers[0]) : answers, aborted,
                totals);
        if (totals.equal + totals.refused > before) {
            compared.add(model.id);
        }
    }
    console.log(`${compared.size} models: ${totals.equal} contexts equal (${totals.lines} lines compared), ` +
                `${totals.refused} refused by both, ${totals.different} different, ${totals.skipped} skipped`);
    process.exit(totals.different === 0 && totals.equal > 0 ? 0 : 1);
}

only ? child(only) : main();
