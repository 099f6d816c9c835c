// SPDX-License-Identifier: MIT
// Headless Chromium with the page in it.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: flags });
}

/// A fresh page. Everything it asks of the network and every error it reports is collected.
export async function open(
  browser,
  file,
  { fragment = "", language = "en-US", theme = "light", width = 1360, height = 900 } = {},
) {
  const context = await browser.newContext({
    locale: language,
    colorScheme: theme,
    viewport: { width, height },
    deviceScaleFactor: width < 500 ? 2 : 1,
  });
  const page = await context.newPage();
  page.asked = [];
  page.faults = [];
  page.on(
    "request",
    (request) => !/^(file|data|blob):/.test(request.url()) && page.asked.push(request.url()),
  );
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  await page.goto(pathToFileURL(file).href + (fragment ? `#${fragment}` : ""));
  await settled(page);
  return page;
}

/// Until everything on the page belongs to the last input.
export async function settled(page) {
  await page.waitForFunction(() => document.body.dataset.settled === "yes", null, { timeout: 60000 });
}

export async function turnTo(page, fragment) {
  await page.evaluate((text) => {
    document.body.dataset.settled = "no";
    location.hash = text;
    if (location.hash === "#" + text) dispatchEvent(new HashChangeEvent("hashchange"));
  }, fragment);
  await settled(page);
}

export const text = (page, selector) => page.locator(selector).textContent();
export const number = (page, name) => text(page, `[data-number="${name}"]`);
