// SPDX-License-Identifier: MIT
// From an input to the numbers on the page.
import { settled, turnTo } from "./browser.mjs";

const cards = [
  "deepseek-v3",
  "gemma-3-27b-it",
  "llama-3.1-8b-instruct",
  "qwen3-next-80b-a3b-instruct",
  "gpt-oss-120b",
  "zamba2-7b",
];

/// Moves sliders 240 times over six models, each time as the browser would, until the handlers are done and the layout
/// is computed. Judged is the time of the page's own thread; the clock also counts what other programs take.
export async function speed(page, check) {
  const metrics = await page.context().newCDPSession(page);
  await metrics.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const all = (await metrics.send("Performance.getMetrics")).metrics;
    return (
      1000 *
      all
        .filter((each) => ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].includes(each.name))
        .reduce((sum, each) => sum + each.value, 0)
    );
  };
  const thread = [];
  const clock = [];
  for (const card of cards) {
    await turnTo(page, `card=${card}&tp=2`);
    await page.evaluate(() => (window.setTimeout = () => 0)); // what follows the numbers is not measured here
    for (let i = 0; i < 40; ++i) {
      const before = await spent();
      clock.push(await page.evaluate(move, ["tokens-range", "batch-range"][i % 2]));
      thread.push((await spent()) - before);
    }
    await page.reload();
    await settled(page);
  }
  const words = (times) => {
    times.sort((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(2);
    return `median ${at(0.5)} ms, p95 ${at(0.95)} ms, largest ${at(1)} ms`;
  };
  const seen = `of ${thread.length} inputs, thread: ${words(thread)}; clock: ${words(clock)}`;
  check("numbers follow an input within 16 ms", thread[Math.floor(0.95 * thread.length)] < 16, seen);
}

function move(id) {
  const range = document.getElementById(id);
  const number = document.querySelector('[data-number="rank"]');
  const before = number.textContent;
  const start = performance.now();
  range.value = (Number(range.value) + 1) % Number(range.max);
  range.dispatchEvent(new Event("input", { bubbles: true }));
  void document.body.offsetHeight;
  const took = performance.now() - start;
  if (number.textContent === before) throw new Error("the number did not change");
  return took;
}
