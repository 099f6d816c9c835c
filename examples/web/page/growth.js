// Bytes against length, both axes logarithmic, with the longest request that fits.
import { byId, h, s } from "./dom.js";
import { amount, exact, grouped, largest, short } from "./numbers.js";
import { t } from "./words.js";

const margin = { left: 78, right: 16, top: 22, bottom: 44 };

function logScale(low, high, from, to) {
  const span = Math.log2(high / low) || 1;
  return (value) => from + ((to - from) * Math.log2(Math.max(Number(value), low) / low)) / span;
}

/// Powers of two from low to high, thinned to at most `most`.
function ticks(low, high, most) {
  const first = Math.ceil(Math.log2(low));
  const last = Math.floor(Math.log2(high));
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const out = [];
  for (let e = first; e <= last; e += step) out.push(2 ** e);
  return out;
}

function tickBytes(bytes) {
  return amount(bytes)
    .replace(/\.000 /, " ")
    .replace(/ B$/, " B");
}

function path(points, x, y) {
  return points
    .map(([tokens, bytes], i) => `${i === 0 ? "M" : "L"}${x(tokens).toFixed(1)} ${y(bytes).toFixed(1)}`)
    .join("");
}

function axes(frame, x, y, xTicks, yTicks) {
  const { width, height } = frame;
  const bottom = height - margin.bottom;
  const out = [];
  for (const tokens of xTicks) {
    out.push(s("line", { class: "grid", x1: x(tokens), x2: x(tokens), y1: margin.top, y2: bottom }));
    out.push(
      s("text", { class: "tick", x: x(tokens), y: bottom + 16, "text-anchor": "middle" }, short(tokens)),
    );
  }
  for (const bytes of yTicks) {
    out.push(
      s("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(bytes), y2: y(bytes) }),
    );
    out.push(
      s(
        "text",
        { class: "tick", x: margin.left - 8, y: y(bytes) + 4, "text-anchor": "end" },
        tickBytes(bytes),
      ),
    );
  }
  out.push(
    s(
      "text",
      { class: "axis", x: (margin.left + width - margin.right) / 2, y: height - 6, "text-anchor": "middle" },
      t("growth_x"),
    ),
  );
  return out;
}

function vertical(x, tokens, kind, words, frame, line) {
  const at = x(tokens);
  const left = at > frame.width * 0.55;
  return [
    s("line", { class: kind, x1: at, x2: at, y1: margin.top, y2: frame.height - margin.bottom }),
    s(
      "text",
      {
        class: `label ${kind}`,
        x: at + (left ? -6 : 6),
        y: margin.top + 14 + 16 * line,
        "text-anchor": left ? "end" : "start",
      },
      words,
    ),
  ];
}

/// What is drawn: series of [tokens, bytes], and where the user stands.
function seriesOf(size, sequences) {
  const held = size.points.map((point) => [
    point.tokens,
    largest(point.held_bytes_per_rank.map((rank) => rank.bytes)),
  ]);
  const reserved = (size.reserved_per_request || []).map((each) => [
    each.tokens,
    Number(each.bytes) * sequences,
  ]);
  return [
    { name: t("growth_held"), kind: "held", points: held.filter(([, bytes]) => bytes > 0) },
    { name: t("growth_reserved"), kind: "reserved", points: reserved.filter(([, bytes]) => bytes > 0) },
  ].filter((series) => series.points.length > 1);
}

function bounds(series, pool) {
  const bytes = series.flatMap((each) => each.points.map((point) => Number(point[1])));
  if (pool) bytes.push(Number(pool));
  return [
    2 ** Math.floor(Math.log2(Math.min(...bytes))),
    2 ** Math.ceil(Math.log2(Math.max(...bytes) * 1.05)),
  ];
}

function legend(series) {
  const one = (each) =>
    h(
      "li",
      {},
      s(
        "svg",
        { width: 34, height: 10, "aria-hidden": "true" },
        s("line", { class: `series ${each.kind}`, x1: 1, x2: 33, y1: 5, y2: 5 }),
      ),
      " ",
      each.name,
    );
  return h("ul", { class: "key inline" }, series.map(one));
}

function table(size, sequences) {
  const engine = size.reserved_per_request || [];
  const head = [t("growth_x"), t("growth_held"), engine.length ? t("growth_reserved") : null].filter(Boolean);
  const rows = size.points.map((point, i) => {
    const held = largest(point.held_bytes_per_rank.map((rank) => rank.bytes));
    const cells = [grouped(point.tokens), exact(held)];
    if (engine.length) cells.push(engine[i] ? exact(Number(engine[i].bytes) * sequences) : "–");
    return h(
      "tr",
      {},
      cells.map((text) => h("td", { class: "right" }, text)),
    );
  });
  const columns = h(
    "tr",
    {},
    head.map((text) => h("th", { scope: "col", class: "right" }, text)),
  );
  return h(
    "details",
    {},
    h("summary", {}, t("growth_table")),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("growth_table") },
      h("table", {}, h("thead", {}, columns), h("tbody", {}, rows)),
    ),
  );
}

/// size: `kvcap size --json` with a list of lengths; now: tokens; fit: `fit --json` or null; pool: bytes of the
/// engine's pools on a rank, or 0; sequences: requests of one replica.
export function showGrowth({ size, now, fit, pool, sequences, batch }) {
  const place = byId("growth");
  const series = seriesOf(size, sequences);
  const open = place.querySelector("details")?.open;
  if (series.length === 0) return place.replaceChildren(h("p", { class: "hint" }, "–"));
  const frame = { width: Math.max(300, place.clientWidth), height: place.clientWidth < 480 ? 280 : 340 };
  const tokens = size.points.map((point) => point.tokens);
  const [low, high] = bounds(series, pool);
  const x = logScale(tokens[0], tokens[tokens.length - 1], margin.left, frame.width - margin.right);
  const y = logScale(low, high, frame.height - margin.bottom, margin.top);
  const inside = (value) => value >= tokens[0] && value <= tokens[tokens.length - 1];
  const marks = [];
  if (fit && fit.longest_tokens > 0 && inside(fit.longest_tokens)) {
    const at = x(fit.longest_tokens);
    marks.push(
      s("rect", {
        class: "beyond",
        x: at,
        y: margin.top,
        width: Math.max(0, frame.width - margin.right - at),
        height: frame.height - margin.bottom - margin.top,
      }),
    );
    marks.push(
      ...vertical(
        x,
        fit.longest_tokens,
        "fit",
        t("growth_fit", { n: grouped(fit.longest_tokens) }),
        frame,
        0,
      ),
    );
  }
  if (pool) {
    marks.push(
      s("line", { class: "pool", x1: margin.left, x2: frame.width - margin.right, y1: y(pool), y2: y(pool) }),
    );
    marks.push(
      s(
        "text",
        { class: "label pool", x: margin.left + 6, y: y(pool) - 6 },
        t("growth_pool", { n: amount(pool) }),
      ),
    );
  }
  if (inside(now)) marks.push(...vertical(x, now, "now", t("growth_now"), frame, 1));
  const lines = series.map((each) => s("path", { class: `series ${each.kind}`, d: path(each.points, x, y) }));
  const words = t("growth_label", { batch: grouped(batch) });
  const chart = s("svg", {
    class: "chart",
    width: frame.width,
    height: frame.height,
    viewBox: `0 0 ${frame.width} ${frame.height}`,
    role: "img",
    "aria-label": words,
  });
  chart.append(
    ...axes(
      frame,
      x,
      y,
      ticks(tokens[0], tokens[tokens.length - 1], frame.width < 480 ? 6 : 12),
      ticks(low, high, 8),
    ),
    ...marks,
    ...lines,
  );
  const details = table(size, sequences);
  details.open = Boolean(open);
  place.replaceChildren(h("p", { class: "hint" }, words), chart, legend(series), details);
}
