// A setting as a slider over sensible steps, with a box beside it for any other value.
import { h } from "./dom.js";
import { countOf, short } from "./numbers.js";
import { t } from "./words.js";

/// Powers of two and the halves between them: 1, 2, 3, 4, 6, 8 ...
function steps(low, high) {
  const values = [];
  for (let n = low; n <= high; n *= 2) {
    values.push(short(n));
    if (n > 1 && n * 1.5 <= high) values.push(short(n * 1.5));
  }
  return values;
}

const scales = {
  tokens: steps(256, 4194304),
  batch: steps(1, 1024),
  tp: ["1", "2", "4", "8", "16", "32", "64"],
  pp: ["1", "2", "3", "4", "6", "8", "12", "16"],
  dp: ["1", "2", "4", "8", "16", "32", "64"],
  block: ["", "1", "8", "16", "32", "64", "128", "256"],
  page: ["16", "32", "64", "128", "256", "512", "1k"],
  pages: ["4", "8", "12", "16", "24", "32", "48", "64"],
};

const names = { page: "reuse_page", pages: "reuse_pages" };
const sliders = {};

function nearestStep(scale, text) {
  const wanted = countOf(text);
  if (text === "") return Math.max(scale.indexOf(""), 0);
  let best = 0;
  scale.forEach((step, i) => {
    const apart = (value) =>
      Math.abs(Math.log(Math.max(countOf(value) || 0.5, 0.5)) - Math.log(Math.max(wanted, 0.5)));
    if (apart(step) < apart(scale[best])) best = i;
  });
  return best;
}

function build(key, place, changed) {
  const scale = scales[key];
  const words = names[key] || key;
  const range = h("input", { type: "range", id: `${key}-range`, min: 0, max: scale.length - 1, step: 1 });
  const box = h("input", {
    type: "text",
    id: key,
    inputmode: "numeric",
    spellcheck: "false",
    class: "number",
  });
  const label = h("label", { for: key, "data-t": words });
  range.setAttribute("data-t-label", words);
  range.addEventListener("input", () => {
    box.value = scale[range.value];
    describe(key);
    changed(key, box.value);
  });
  box.addEventListener("input", () => {
    range.value = nearestStep(scale, box.value.trim());
    describe(key);
    changed(key, box.value);
  });
  place.append(label, range, box);
  sliders[key] = { range, box };
}

function describe(key) {
  const { range, box } = sliders[key];
  range.setAttribute("aria-valuetext", box.value || t("block_auto"));
  range.style.setProperty("--filled", `${(100 * range.value) / range.max}%`);
}

/// Fills every element with data-slider; `changed(key, text)` on each move.
export function buildSliders(changed) {
  document.querySelectorAll("[data-slider]").forEach((place) => build(place.dataset.slider, place, changed));
}

export function showSliders(state) {
  for (const [key, { range, box }] of Object.entries(sliders)) {
    if (box.value !== state[key]) box.value = state[key];
    range.value = nearestStep(scales[key], state[key].trim());
    describe(key);
  }
}

export function allowSlider(key, allowed, hint) {
  const { range, box } = sliders[key];
  range.disabled = box.disabled = !allowed;
  box.placeholder = hint;
  box.title = allowed ? "" : hint;
}
