// What each rank holds now, and what a rank holds as TP grows.
import { byId, h } from "./dom.js";
import { look } from "./kinds.js";
import { amount, exact, grouped } from "./numbers.js";
import { kindWords, t } from "./words.js";

/// Neighbouring ranks with equal bytes, together.
function runs(ranks) {
  const out = [];
  ranks.forEach((rank, i) => {
    const last = out[out.length - 1];
    if (last && last.bytes === rank.bytes) last.to = i;
    else out.push({ from: i, to: i, bytes: rank.bytes });
  });
  return out;
}

function runName({ from, to }) {
  return from === to
    ? t("rank_name", { n: from })
    : t("ranks_name", { n: `${from}-${to}`, count: to - from + 1 });
}

/// How TP treats a group: what is stored over what is unique.
function treatment(group, tp) {
  const copies = group.stored_over_unique;
  if (tp === 1) return "";
  if (copies === 1) return t("divided");
  return copies === tp ? t("copied") : t("partly", { n: Number(copies.toFixed(3)) });
}

/// Shares of a rank's bytes by group. Only without stages: then every rank has the same mixture.
function mixture(size) {
  if (size.sharding.pp > 1) return [];
  const held = size.groups.map((group) => Number(group.held_bytes) * group.stored_over_unique);
  const all = held.reduce((a, b) => a + b, 0);
  return all === 0 ? [] : size.groups.map((group, g) => ({ group, share: held[g] / all }));
}

function bar(share, parts) {
  const fill = h("div", { class: "fill", style: `width:${(100 * share).toFixed(2)}%` });
  if (parts.length === 0) fill.classList.add("attention");
  for (const { group, share: part } of parts) {
    fill.append(
      h("i", { class: `part ${look(group.kind).family}`, style: `width:${(100 * part).toFixed(2)}%` }),
    );
  }
  return h("div", { class: "track", "aria-hidden": "true" }, fill);
}

function barRow(name, share, parts, bytes, mark) {
  const track = bar(share, parts);
  if (mark !== undefined)
    track.append(h("span", { class: "mark", style: `left:${(100 * mark).toFixed(2)}%` }));
  return h(
    "li",
    { class: "bar-row" },
    h("span", { class: "name" }, name),
    track,
    h("span", { class: "amount", title: exact(bytes) }, amount(bytes)),
  );
}

function key(size) {
  const rows = size.groups
    .filter((group) => group.held_bytes > 0)
    .map((group) => {
      const { letter, family } = look(group.kind);
      const how = treatment(group, size.sharding.tp);
      return h(
        "li",
        {},
        h("i", { class: `block ${family}`, "aria-hidden": "true" }, letter),
        ` ${kindWords(group.kind)}: `,
        h("span", { lang: "en" }, group.what),
        how ? [" — ", h("strong", {}, how)] : "",
      );
    });
  return h("ul", { class: "key" }, rows);
}

const mostRows = 24;

/// size: `kvcap size --json`
export function showRanks(size) {
  const ranks = size.points[0].held_bytes_per_rank;
  const most = Math.max(...ranks.map((rank) => Number(rank.bytes)), 1);
  const parts = mixture(size);
  const rows = runs(ranks);
  const shown = rows
    .slice(0, mostRows)
    .map((run) => barRow(runName(run), Number(run.bytes) / most, parts, run.bytes));
  if (rows.length > mostRows) shown.push(h("li", { class: "hint" }, `… +${grouped(rows.length - mostRows)}`));
  byId("ranks").replaceChildren(h("h3", {}, t("ranks_now")), h("ul", { class: "bars" }, shown), key(size));
}

/// sweep: {json, error} of `kvcap sweep --tp ... --out json` at one length; err: what was left out, in the program's words.
export function showTp(sweep, tp, err) {
  const place = byId("ranks-tp");
  if (!sweep) return place.replaceChildren(h("p", { class: "error", lang: "en" }, err));
  const lines = sweep.lines.map((line) => ({ tp: line.tp, bytes: line.held_bytes[0] }));
  if (lines.length === 0) return place.replaceChildren(h("p", { class: "hint", lang: "en" }, err));
  const first = lines[0];
  const last = lines[lines.length - 1];
  const most = Math.max(Number(first.bytes), 1);
  const rows = lines.map((line) => {
    const row = barRow(`TP ${line.tp}`, Number(line.bytes) / most, [], line.bytes, first.tp / line.tp);
    if (String(line.tp) === tp.trim()) row.classList.add("current");
    return row;
  });
  const percent = `${((100 * Number(last.bytes)) / most).toFixed(1)} %`;
  const same = last.bytes === first.bytes && last.tp !== first.tp;
  const say = same ? t("ranks_tp_same") : t("ranks_tp_say", { to: last.tp, from: first.tp, percent });
  place.replaceChildren(
    h("ul", { class: "bars" }, rows),
    h("p", { id: "ranks-tp-say" }, say),
    err ? h("p", { class: "hint", lang: "en" }, err) : "",
  );
}
