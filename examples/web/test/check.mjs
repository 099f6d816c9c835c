// SPDX-License-Identifier: MIT
// node check.mjs PAGE.html KVCAP ROOT OUT: every check, then screenshots into OUT.
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { launch, number, open, settled, text, turnTo } from "./browser.mjs";
import { keyboard } from "./keyboard.mjs";
import { screens } from "./screens.mjs";
import { speed } from "./speed.mjs";

const [file, kvcap, root, out] = process.argv.slice(2);
let failed = 0;

function check(what, good, seen = "") {
  if (!good) ++failed;
  console.log(`${good ? "ok  " : "FAIL"} ${what}${seen === "" ? "" : `: ${seen}`}`);
}

function cli(args) {
  const run = spawnSync(kvcap, args, { encoding: "utf8", cwd: out });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

/// What the command line that the page shows prints, asked of a real shell.
function shell(line) {
  const path = { ...process.env, PATH: `${dirname(kvcap)}:${process.env.PATH}` };
  return spawnSync("sh", ["-c", `${line} --json`], { encoding: "utf8", cwd: out, env: path }).stdout;
}

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

// --- the checks --------------------------------------------------------------------------------------------------

function weight() {
  const bytes = statSync(file).size;
  check("the page is under 1.5 MB", bytes < 1_500_000, `${grouped(bytes)} bytes`);
}

/// Every n-th card, so that all families have their turn, each with other settings.
function cases() {
  const cards = JSON.parse(cli(["models", "--json"]).out).models.map((card) => card.name);
  const engines = ["vllm", "sglang", "llamacpp", "trtllm", "exact"];
  const step = cards.length / 30;
  return Array.from({ length: 30 }, (_, i) => ({
    card: cards[Math.floor(i * step)],
    tp: String(2 ** (i % 4)),
    engine: engines[i % 5],
    tokens: ["8k", "32k", "100000"][i % 3],
    batch: String(1 + 7 * (i % 2)),
    dtype: i % 4 === 3 ? "fp8" : "auto",
  }));
}

async function numbersEqual(page) {
  let compared = 0;
  for (const one of cases()) {
    await turnTo(page, new URLSearchParams(one).toString());
    const wrong = await page.locator("#error").isVisible();
    const size = shell(await text(page, "#cli-size"));
    const label = `${one.card} tp ${one.tp} ${one.engine} ${one.tokens} x${one.batch} ${one.dtype}`;
    if (wrong) {
      const args = [
        "size",
        one.card,
        "--tokens",
        one.tokens,
        "--tp",
        one.tp,
        "--batch",
        one.batch,
        "--kv-cache-dtype",
        one.dtype,
      ];
      const said = cli(args)
        .err.replace(/^kvcap: /, "")
        .trim();
      check(
        `${label}: refused in the program's words`,
        said !== "" && said === (await text(page, "#error")),
        said,
      );
      continue;
    }
    ++compared;
    const json = JSON.parse(size);
    const fit = shell(await text(page, "#cli-fit"));
    const tiles = await page.locator("#tiles").innerText();
    const rank = json.points[0].held_bytes_per_rank.reduce((most, each) => Math.max(most, each.bytes), 0);
    const onScreen = [
      json.bytes_per_token,
      rank,
      json.points[0].held_bytes_total,
      json.points[0].unique_bytes,
    ];
    const missing = onScreen.filter((bytes) => !tiles.includes(`${grouped(bytes)} B`));
    const screen = cli((await text(page, "#cli-size")).split(" ").slice(1)).out;
    const inGiB = await number(page, "all");
    if (inGiB.endsWith("GiB") && screen.includes("GiB") && !screen.includes(inGiB)) missing.push(inGiB);
    const same =
      (await text(page, "#json-size")) === size.trimEnd() &&
      (await text(page, "#json-fit")) === fit.trimEnd();
    check(`${label}: equal to the command line`, same && missing.length === 0, missing.join(" "));
  }
  check("at least 25 models were understood and compared", compared >= 25, compared);
}

async function byHand(page) {
  await page.locator("input[name=from][value=spec]").check();
  await page.locator("#spec").fill("61*mla(512,64)");
  const perRank = [];
  for (const tp of ["1", "2", "4", "8", "16", "32", "64"]) {
    await page.locator("#tp").fill(tp);
    await settled(page);
    perRank.push(await number(page, "rank"));
  }
  check(
    "61 layers of MLA, width 576: a token takes 68.625 KiB",
    (await number(page, "per-token")) === "68.625 KiB",
    await number(page, "per-token"),
  );
  check("its bytes on a rank do not change from TP 1 to 64", new Set(perRank).size === 1, perRank.join(", "));
  check("the page says so", /Unchanged as TP grows/.test(await text(page, "#ranks-tp-say")));
  await page.locator("#hand summary").click();
  await page.locator("#hand-kind").selectOption("window");
  await page.locator("#hand-add").click();
  await settled(page);
  check(
    "the builder adds to the line",
    (await page.locator("#spec").inputValue()) === "61*mla(512,64) + 61*window(1024, gqa(8,128))",
    await page.locator("#spec").inputValue(),
  );
  check("which the program reads", !(await page.locator("#error").isVisible()));
}

async function links(browser, page) {
  await turnTo(page, "card=gemma-3-27b-it&tp=2&tokens=16k&batch=4&engine=sglang&gpu=h100&dtype=fp8");
  await page.locator('[data-g="1"][data-i="20"]').click();
  await page.waitForTimeout(300);
  const address = await page.evaluate(() => location.href);
  const second = await open(browser, file, { fragment: address.split("#")[1] });
  for (const place of ["#tiles", "#verdict", "#reuse-answer", "#legend"]) {
    check(
      `the link brings back ${place}`,
      (await page.locator(place).innerText()) === (await second.locator(place).innerText()),
    );
  }
  check(
    "and the pages that were clicked",
    (await second.locator('[data-g="1"][data-i="20"]').getAttribute("aria-checked")) === "true",
  );
  const config = {
    model_type: "llama",
    num_hidden_layers: 4,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    hidden_size: 512,
    head_dim: 64,
    torch_dtype: "bfloat16",
  };
  await page.locator("input[name=from][value=config]").check();
  await page.locator("#config").fill(JSON.stringify(config, null, 2));
  await settled(page);
  writeFileSync(join(out, "config.json"), JSON.stringify(config));
  const shown = JSON.parse(await text(page, "#json-size"));
  const told = JSON.parse(shell(await text(page, "#cli-size")));
  check(
    "a pasted config.json gives the command line's bytes",
    JSON.stringify(shown.points) === JSON.stringify(told.points),
    shown.points[0].unique_bytes,
  );
  const third = await open(browser, file, {
    fragment: (await page.evaluate(() => location.href)).split("#")[1],
  });
  check(
    "and travels in the link",
    (await page.locator("#tiles").innerText()) === (await third.locator("#tiles").innerText()),
  );
  await second.context().close();
  await third.context().close();
}

async function errors(page) {
  await turnTo(page, "spec=" + encodeURIComponent("61*mlaa(512,64)"));
  const said = cli(["size", "61*mlaa(512,64)", "--tokens", "32k"])
    .err.replace(/^kvcap: /, "")
    .trim();
  check("a wrong line is refused in the program's words", (await text(page, "#error")) === said, said);
  await turnTo(page, "card=deepseek-v3");
  for (const [box, wrong, flag] of [
    ["#tokens", "32q", "--tokens"],
    ["#tp", "0", "--tp"],
    ["#batch", "", "--batch"],
    ["#tp", "999999999999", "--tp"],
  ]) {
    const before = await page.locator(box).inputValue();
    await page.locator(box).fill(wrong);
    await page.waitForTimeout(100);
    check(
      `${box} "${wrong}" is refused in place`,
      await page.locator("#error").isVisible(),
      (await text(page, "#error")).slice(0, 120),
    );
    check(`naming ${flag}`, (await text(page, "#error")).includes(flag));
    await page.locator(box).fill(before);
  }
  await settled(page);
  check("and all is well again", !(await page.locator("#error").isVisible()));
  for (const model of [
    "-",
    "--help",
    "../../etc/passwd",
    "<img src=x onerror=alert(1)>",
    "{",
    '{"model_type": 3}',
    "512*gqa(1,1)",
  ]) {
    await turnTo(page, "spec=" + encodeURIComponent(model));
    const shown = (await page.locator("#error").isVisible()) ? await text(page, "#error") : "understood";
    check(`the model ${model} is answered`, shown !== "", shown.slice(0, 100));
  }
  check("no script error on the way", page.faults.length === 0, page.faults.join(" | "));
}

/// Models and loads at the edges: whatever the program says, the page shows it and none of its scripts fails.
async function edges(page) {
  const models = [
    "4*none",
    "2*gqa(8,128) + 2*share(-1)",
    "16*gqa(65536,65536)",
    "2*cross(gqa(8,64)) + 2*gqa(8,64)",
    "8*mamba2(112,64,64,2)",
    "512*gqa(1,1)",
    "61*sparse_mla(512,64,128, index=fp8_128)",
    "4*compressed(512,128,4,128)",
  ];
  for (const spec of models) {
    for (const tokens of ["1", "32k", "1000000000000000", "max"]) {
      await turnTo(page, new URLSearchParams({ spec, tokens, tp: "1", batch: "3" }).toString());
      const said = cli(["size", spec, "--tokens", tokens, "--batch", "3", "--json"]);
      const wrong = await page.locator("#error").isVisible();
      const same = wrong
        ? said.err.includes(await text(page, "#error"))
        : (await text(page, "#json-size")) === said.out.trimEnd();
      check(
        `${spec}, ${tokens} tokens: as the command line says`,
        same,
        wrong ? await text(page, "#error") : "",
      );
    }
  }
  check("no script error at the edges", page.faults.length === 0, page.faults.join(" | "));
}

async function files(page) {
  await turnTo(page, "card=deepseek-v3");
  await page.locator("input[name=from][value=file]").check();
  for (const name of ["llama31-8b", "gemma3n-e4b", "deepseek-v3"]) {
    const path = join(root, "tests/golden/llama_cpp/gguf", `${name}.header.gguf`);
    await page.locator("#file").setInputFiles(path);
    await page.waitForTimeout(200);
    await settled(page);
    const told = JSON.parse(cli(["size", path, "--tokens", "32k", "--tp", "8", "--json"]).out || "null");
    const shown =
      told && (await page.locator("#error").isHidden()) ? JSON.parse(await text(page, "#json-size")) : null;
    check(
      `${name}.gguf: its header gives the command line's bytes`,
      shown && told && JSON.stringify(shown.points) === JSON.stringify(told.points),
      shown ? shown.points[0].unique_bytes : await text(page, "#error"),
    );
  }
}

async function hub(page) {
  const before = page.asked.length;
  check("nothing was asked of the network so far", before === 0, page.asked.join(" "));
  await page.route("https://huggingface.co/**", (route) => {
    const known = route.request().url().endsWith("/Some/Model/resolve/main/config.json");
    route.fulfill(
      known
        ? {
            body: JSON.stringify({
              model_type: "llama",
              num_hidden_layers: 2,
              num_attention_heads: 8,
              num_key_value_heads: 8,
              hidden_size: 512,
            }),
            headers: { "access-control-allow-origin": "*" },
          }
        : { status: 404, body: "" },
    );
  });
  await turnTo(page, "card=deepseek-v3");
  await page.locator("input[name=from][value=config]").check();
  await page.locator("#from-config summary").click();
  await page.locator("#hub-id").fill("Some/Model");
  check("nor before the click", page.asked.length === 0);
  await page.locator("#hub-fetch").click();
  await page.waitForFunction(() => document.querySelector("#config").value.includes("llama"));
  await settled(page);
  check(
    "the button fetches one config.json",
    page.asked.length === 1 && /"spec": "2\*gqa\(8,64\)/.test(await text(page, "#json-size")),
    await text(page, "#tiles"),
  );
  await page.locator("#hub-id").fill("no/such");
  await page.locator("#hub-fetch").click();
  await page.waitForFunction(() => /HTTP 404/.test(document.querySelector("#hub-say").textContent));
  check("and says what failed", true, await text(page, "#hub-say"));
}

async function changes(page) {
  await turnTo(page, "card=deepseek-v3&tp=8&gpu=h100&tokens=32k");
  const button = page.locator(".changes button").first();
  check(
    "what does not fit has suggestions",
    (await page.locator("#verdict .answer.no").count()) === 1 && (await button.count()) === 1,
  );
  await button.click();
  await settled(page);
  check(
    "a suggestion taken fits",
    (await page.locator("#verdict .answer.no").count()) === 0,
    await text(page, "#verdict-words"),
  );
}

async function reuse(page) {
  await turnTo(
    page,
    "spec=" + encodeURIComponent("8*gqa(8,128) + 40*window(1024, gqa(8,128))") + "&held=0-31;0-9,20-31",
  );
  check(
    "the playground answers",
    /can be skipped/.test(await text(page, "#reuse-words")),
    await text(page, "#reuse-words"),
  );
  const json = JSON.parse(
    cli([
      "reuse",
      "8*gqa(8,128) + 40*window(1024, gqa(8,128))",
      "--prompt",
      "8k",
      "--page-tokens",
      "256",
      "--held",
      "1=0-31",
      "--held",
      "2=0-9,20-31",
      "--json",
    ]).out,
  );
  check(
    "with the command line's boundary",
    (await text(page, "#reuse-words")).includes(`${grouped(json.reusable_tokens)} of`),
    json.reusable_tokens,
  );
  await page.locator('[data-g="1"][data-i="31"]').click();
  await page.locator('[data-g="0"][data-i="5"]').click();
  const broken = await text(page, "#reuse-words");
  check("a page that goes missing moves it", /1,280 of 8,192/.test(broken), broken);
  await page.locator("#reuse-answer tbody button").last().click();
  const after = await text(page, "#reuse-words");
  check("the longest repair restores it", /7,936 of 8,192/.test(after), after);
  for (const [pages, words] of [
    ["1000", /At most 128 pages/],
    ["x", /--prompt/],
    ["0", /--prompt/],
  ]) {
    await page.locator("#pages").fill(pages);
    await settled(page);
    const said = await text(page, "#reuse-answer");
    check(`${pages} pages are refused in words`, words.test(said), said);
  }
  await page.locator("#pages").fill("32");
  await settled(page);
}

async function chinese(page) {
  await page.locator("#language").click();
  await settled(page);
  const empty = await page.$$eval("[data-t]", (all) =>
    all
      .filter((each) => each.textContent === "" || each.textContent === each.dataset.t)
      .map((each) => each.dataset.t),
  );
  check("every word has a translation", empty.length === 0, empty.join(" "));
  check("the page says that it is Chinese", (await page.locator("html").getAttribute("lang")) === "zh-CN");
  await page.locator("#language").click();
}

const browser = await launch();
try {
  weight();
  const page = await open(browser, file);
  check("opens from a file without an error", page.faults.length === 0, page.faults.join(" | "));
  await numbersEqual(page);
  await byHand(page);
  await links(browser, page);
  await errors(page);
  await edges(page);
  await files(page);
  await changes(page);
  await reuse(page);
  await chinese(page);
  await speed(page, check);
  await hub(page);
  await keyboard(await open(browser, file), check);
  await screens(browser, file, out, check);
} finally {
  await browser.close();
}
console.log(failed === 0 ? "all checks passed" : `${failed} checks failed`);
process.exit(failed === 0 ? 0 : 1);
