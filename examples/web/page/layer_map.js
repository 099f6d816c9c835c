// What each layer caches, as a strip of cells and as a table.
import { byId, h, stacking } from "./dom.js";
import { look } from "./kinds.js";
import { amount, exact, grouped, ranges, shortRanges } from "./numbers.js";
import { kindWords, t } from "./words.js";

function describe(layer, size) {
  const kinds = layer.groups.map((g) => `${kindWords(size.groups[g].kind)} (${size.groups[g].what})`);
  const what =
    layer.shares_with !== undefined
      ? t("shares", { n: layer.shares_with })
      : kinds.join(" + ") || t("no_cache");
  return `${t("layer", { n: layer.layer })}: ${what}, ${exact(layer.held_bytes)}`;
}

function blocks(layer, size) {
  if (layer.shares_with !== undefined) return [h("i", { class: "block shared" }, "=")];
  if (layer.groups.length === 0) return [h("i", { class: "block none" }, "·")];
  return layer.groups.map((g) => {
    const { letter, family } = look(size.groups[g].kind);
    return h("i", { class: `block ${family}` }, letter);
  });
}

function cell(layer, size, most) {
  const share = most > 0 ? Number(layer.held_bytes) / most : 0;
  const bar = h("b", { style: `height:${(100 * share).toFixed(1)}%` });
  const tick = layer.layer % 10 === 0 ? h("span", { class: "tick" }, layer.layer) : "";
  return h(
    "span",
    { class: "cell", title: describe(layer, size) },
    h("span", { class: "share" }, bar),
    blocks(layer, size),
    tick,
  );
}

function row(group) {
  const { letter, family } = look(group.kind);
  return h(
    "tr",
    {},
    h(
      "td",
      {},
      h("i", { class: `block ${family}`, "aria-hidden": "true" }, letter),
      " ",
      kindWords(group.kind),
    ),
    h("td", { lang: "en" }, group.what),
    h(
      "td",
      { title: ranges([...new Set(group.layers)]) },
      `${group.caches}: ${shortRanges([...new Set(group.layers)])}`,
    ),
    h("td", { class: "right" }, group.bytes_per_token > 0 ? exact(group.bytes_per_token) : "–"),
    h("td", { class: "right" }, amount(group.held_bytes)),
  );
}

function others(size) {
  const shared = size.layers.filter((layer) => layer.shares_with !== undefined).map((layer) => layer.layer);
  const none = size.layers
    .filter((layer) => layer.groups.length === 0 && layer.shares_with === undefined)
    .map((layer) => layer.layer);
  const line = (layers, letter, kind) =>
    layers.length === 0
      ? ""
      : h(
          "tr",
          {},
          h(
            "td",
            {},
            h("i", { class: `block ${kind}`, "aria-hidden": "true" }, letter),
            " ",
            kindWords(kind),
          ),
          h("td", {}),
          h("td", {}, `${layers.length}: ${shortRanges(layers)}`),
          h("td", { class: "right" }, "–"),
          h("td", { class: "right" }, "–"),
        );
  return [line(shared, "=", "shared"), line(none, "·", "none")];
}

/// size: `kvcap size --per-layer --json`
export function showLayers(size) {
  const most = Math.max(...size.layers.map((layer) => Number(layer.held_bytes)), 0);
  const words = size.groups.map((group) => `${group.caches} ${kindWords(group.kind)}`).join(", ");
  const map = byId("map");
  map.setAttribute("aria-label", t("map_label", { n: grouped(size.layers.length), words }));
  map.replaceChildren(...size.layers.map((layer) => cell(layer, size, most)));
  const head = ["col_kind", "col_what", "col_layers", "col_per_token", "col_held"].map((key, i) =>
    h("th", { scope: "col", class: i > 2 ? "right" : "" }, t(key)),
  );
  byId("legend").replaceChildren(
    stacking(
      h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, size.groups.map(row), others(size))),
    ),
  );
}
