// SPDX-License-Identifier: MIT
// From an input to the numbers and the verdict on the page.
import { settled, turnTo } from "./browser.mjs";

/// Moves sliders 240 times over six models, each time as the browser would; milliseconds until the handlers are done
/// and the layout is computed.
export async function speed(page, check) {
  const times = [];
  for (const card of ["deepseek-v3", "gemma-3-27b-it", "llama-3.1-8b-instruct", "qwen3-next-80b-a3b-instruct", "gpt-oss-120b", "zamba2-7b"]) {
    await turnTo(page, `card=${card}&tp=2`);
    times.push(...(await page.evaluate(move)));
    await settled(page);
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  const seen = `median ${at(0.5).toFixed(2)} ms, p95 ${at(0.95).toFixed(2)} ms, largest ${at(1).toFixed(2)} ms of ${times.length}`;
  check("numbers follow an input within 16 ms", at(0.95) < 16, seen);
}

async function move() {
  const out = [];
  for (let i = 0; i < 40; ++i) {
    const range = document.getElementById(["tokens-range", "batch-range"][i % 2]);
    range.value = (Number(range.value) + 1) % Number(range.max);
    const before = document.querySelector('[data-number="rank"]').textContent;
    const start = performance.now();
    range.dispatchEvent(new Event("input", { bubbles: true }));
    void document.body.offsetHeight;
    out.push(performance.now() - start);
    if (document.querySelector('[data-number="rank"]').textContent === before) throw new Error("the number did not change");
    await new Promise((go) => setTimeout(go, 10));
  }
  return out;
}
