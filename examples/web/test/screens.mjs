// SPDX-License-Identifier: MIT
// Pictures of the page for a person to look at, and the one thing about them that a program can see.
import { join } from "node:path";
import { open } from "./browser.mjs";

const fragments = {
  mla: "card=deepseek-v3&tp=8&gpu=h200",
  hybrid: "card=gemma-3-27b-it&tp=2&gpu=h100&tokens=64k&batch=4",
};

async function picture(browser, file, out, check, name, fragment, settings) {
  const page = await open(browser, file, { fragment, ...settings });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(`${name}: nothing runs off to the right`, wide <= 0, wide > 0 ? `${wide} pixels` : "");
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
  await page.context().close();
}

export async function screens(browser, file, out, check) {
  for (const theme of ["light", "dark"]) {
    for (const [language, short] of [
      ["en-US", "en"],
      ["zh-CN", "zh"],
    ]) {
      const wide = short === "en" ? "mla" : "hybrid";
      const narrow = short === "en" ? "hybrid" : "mla";
      await picture(browser, file, out, check, `desktop-${theme}-${short}`, fragments[wide], {
        theme,
        language,
      });
      await picture(browser, file, out, check, `phone-${theme}-${short}`, fragments[narrow], {
        theme,
        language,
        width: 390,
        height: 844,
      });
    }
  }
}
