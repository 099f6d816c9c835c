// SPDX-License-Identifier: MIT
// The page without a mouse: every stop has a name and is seen, and everything can be done.
import { number, settled, text } from "./browser.mjs";

/// What has the focus: its id or kind, its accessible name, and whether one sees that it has it.
function focused() {
  const element = document.activeElement;
  const labels = [...(element.labels || [])].map((label) => label.textContent).join(" ");
  const by = (element.getAttribute("aria-labelledby") || "")
    .split(" ")
    .map((id) => document.getElementById(id)?.textContent || "")
    .join(" ");
  const name = element.getAttribute("aria-label") || by.trim() || labels.trim() || element.textContent.trim();
  const shown = element.closest(".segments")
    ? getComputedStyle(element.nextElementSibling)
    : getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return {
    id: element.id,
    tag: element.tagName,
    key: element.id || `${element.tagName} ${name}`.slice(0, 60),
    name,
    seen: shown.outlineStyle !== "none" && box.height > 0,
  };
}

async function tabTo(page, wanted, most = 120) {
  for (let i = 0; i < most; ++i) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(focused);
    if (wanted(at)) return true;
  }
  return false;
}

async function walk(page, check) {
  const stops = [];
  for (let i = 0; i < 140; ++i) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(focused);
    if (at.tag === "BODY") break;
    stops.push(at);
  }
  const nameless = stops.filter((at) => at.name === "").map((at) => at.key);
  const unseen = stops.filter((at) => !at.seen).map((at) => at.key);
  check(
    "every stop of the Tab key has a name",
    nameless.length === 0,
    nameless.join(", ") || `${stops.length} stops`,
  );
  check("and shows the focus", unseen.length === 0, unseen.join(", "));
  const order = ["language", "theme", "card", "tokens", "dtype", "tp", "engine", "gpu"].map((id) =>
    stops.findIndex((at) => at.id === id),
  );
  check(
    "the order is that of the page",
    order.every((at, i) => at >= 0 && (i === 0 || at > order[i - 1])),
    order.join(" "),
  );
}

export async function keyboard(page, check) {
  await walk(page, check);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Home");
  check("Tab reaches the list of models", await tabTo(page, (at) => at.id === "card"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("llama-3.1 8b");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await settled(page);
  check(
    "typing, an arrow and Enter choose one",
    /llama-3\.1-8b/i.test(await text(page, "#model-name")),
    await text(page, "#model-name"),
  );
  const before = await number(page, "rank");
  check("Tab reaches a slider", await tabTo(page, (at) => at.id === "tokens-range"));
  await page.keyboard.press("ArrowRight");
  check(
    "an arrow moves it and the numbers",
    (await number(page, "rank")) !== before,
    `${before} -> ${await number(page, "rank")}`,
  );
  check("Tab reaches a page of the playground", await tabTo(page, (at) => /^page 0,/.test(at.name)));
  await page.keyboard.press("ArrowRight");
  const at = await page.evaluate(focused);
  await page.keyboard.press("Space");
  const now = await page.evaluate(() => document.activeElement.getAttribute("aria-checked"));
  check(
    "an arrow and Space take a page away",
    /^page 1,/.test(at.name) && now === "false",
    await text(page, "#reuse-words"),
  );
  check(
    "Tab reaches the command line's copy button",
    await tabTo(page, (stop) => stop.key.startsWith("BUTTON Copy")),
  );
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("copy-say").textContent !== "");
  check("which says what it did", true, await text(page, "#copy-say"));
}
