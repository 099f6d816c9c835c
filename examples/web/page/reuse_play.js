// The playground: pages of each group present or missing, how far the prompt can be skipped, and what would repair it.
import { reuseArguments, rulesArguments } from "./arguments.js";
import { byId, h, setText } from "./dom.js";
import { amount, countOf, exact, grouped, ranges } from "./numbers.js";
import { ask, run, sentence } from "./program.js";
import { cellsOf, wirePages } from "./reuse_input.js";
import { t } from "./words.js";

let groups = []; // {name, page, present: [bool]}
let shown = { state: null };
let changed = () => {};

const mostPages = 128;

/// "0-3,7;all" and the like, one part for each group.
function heldText() {
  const numbers = (group) => group.present.flatMap((held, i) => (held ? [i] : []));
  return groups.map((group) => ranges(numbers(group)).replaceAll(" ", "")).join(";");
}

function presentFrom(text, pages) {
  const present = new Array(pages).fill(false);
  for (const part of (text || "").split(",").filter(Boolean)) {
    const [first, last] = part.split("-").map(Number);
    for (let i = first; i <= Math.min(last ?? first, pages - 1); ++i) present[i] = true;
  }
  return present;
}

function prompt(state) {
  return countOf(state.page) * countOf(state.pages);
}

/// Groups of the model at this page size, with the pages that were present before, or those of the link.
function load(state, json) {
  const all = prompt(state);
  const given = state.held === "" ? null : state.held.split(";");
  groups = json.groups.map((group, g) => {
    const pages = Math.ceil(all / group.page_tokens);
    const present = given
      ? presentFrom(given[g], pages)
      : presentFrom(
          g === 0 && json.groups.length > 1
            ? `0-${pages - 1}`
            : `0-${Math.max(0, Math.floor(pages * 0.6) - 1)}`,
          pages,
        );
    return { name: group.name, page: group.page_tokens, present };
  });
}

// --- asking ------------------------------------------------------------------------------------------------------

function heldArguments() {
  return heldText().split(";");
}

/// The pages each group needs at `tokens`: what the program says for a cache that has everything.
function neededAt(tokens) {
  const everything = groups.map((group) => (group.present.length ? `0-${group.present.length - 1}` : ""));
  const answer = ask([...reuseArguments(shown.state, prompt(shown.state), everything, tokens), "--json"]);
  if (!answer.json || answer.json.reusable_tokens !== tokens) return groups.map(() => new Set());
  return answer.json.groups.map(pagesNeeded);
}

/// A group's needed pages: the last ones, and before them as many sinks as are left of the count.
function pagesNeeded(group) {
  const [first, end] = group.needed_range;
  const pages = new Set();
  for (let i = first; i < end; ++i) pages.add(i);
  for (let i = 0; i < group.needed_pages - (end - first); ++i) pages.add(i);
  return pages;
}

// --- drawing -----------------------------------------------------------------------------------------------------

function cellLabel(group, i) {
  const what = t(group.present[i] ? "present" : "missing");
  return t("reuse_cell", {
    n: i,
    first: grouped(i * group.page),
    last: grouped((i + 1) * group.page - 1),
    what,
  });
}

function pageCell(group, g, i) {
  return h("button", {
    type: "button",
    class: "page",
    role: "checkbox",
    "aria-checked": String(group.present[i]),
    "aria-label": cellLabel(group, i),
    "data-g": g,
    "data-i": i,
    tabindex: i === 0 ? 0 : -1,
    style: `flex-grow:${group.page}`,
  });
}

function groupRow(group, g) {
  const set = (value) => () => {
    group.present.fill(value);
    touched();
  };
  const cells = h(
    "div",
    { class: "pages", role: "group", "aria-label": t("reuse_group", { name: group.name }) },
    group.present.map((_, i) => pageCell(group, g, i)),
  );
  const all = h(
    "button",
    {
      type: "button",
      class: "plain small",
      "aria-label": `${group.name}: ${t("reuse_all")}`,
      onclick: set(true),
    },
    t("reuse_all"),
  );
  const none = h(
    "button",
    {
      type: "button",
      class: "plain small",
      "aria-label": `${group.name}: ${t("reuse_none")}`,
      onclick: set(false),
    },
    t("reuse_none"),
  );
  return h(
    "div",
    { class: "reuse-group" },
    h(
      "div",
      { class: "row" },
      h("span", { class: "name", lang: "en" }, `${g + 1}. ${group.name}`),
      all,
      none,
    ),
    cells,
  );
}

function mark(json, needed, repair) {
  groups.forEach((group, g) => {
    cellsOf(g).forEach((cell, i) => {
      cell.setAttribute("aria-checked", String(group.present[i]));
      cell.setAttribute("aria-label", cellLabel(group, i));
      cell.classList.toggle("needed", needed[g].has(i));
      cell.classList.toggle("fetch", repair[g].has(i) && !group.present[i]);
    });
    const share = (100 * json.reusable_tokens) / json.prompt_tokens;
    cellsOf(g)[0]?.parentElement.style.setProperty("--boundary", `${share}%`);
    cellsOf(g)[0]?.closest(".reuse-group").classList.toggle("limiting", json.limiting.includes(group.name));
  });
}

function costOf(step) {
  return step.bytes !== undefined
    ? h("span", { title: exact(step.bytes) }, amount(step.bytes))
    : grouped(step.pages);
}

function repairRow(name, step) {
  const apply = h(
    "button",
    { type: "button", class: "plain small", "aria-label": `${t("reuse_apply")}: ${t("reuse_" + name)}` },
    t("reuse_apply"),
  );
  apply.addEventListener("click", () => {
    neededAt(step.tokens).forEach((pages, g) => pages.forEach((i) => (groups[g].present[i] = true)));
    touched();
  });
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, t("reuse_" + name)),
    h("td", { class: "right" }, grouped(step.tokens)),
    h("td", { class: "right" }, `+${grouped(step.gained_tokens)}`),
    h("td", { class: "right" }, costOf(step)),
    h("td", {}, apply),
  );
}

function answerWords(json, words) {
  const limit = json.limiting.length > 0 ? ` · ${t("reuse_limit", { name: json.limiting.join(" + ") })}` : "";
  const first = h(
    "p",
    { class: "answer", id: "reuse-words" },
    t("reuse_answer", { n: grouped(json.reusable_tokens), all: grouped(json.prompt_tokens) }) + limit,
  );
  const said = h("p", { class: "hint", lang: "en" }, words);
  const steps = ["cheapest", "best_rate", "longest"].filter((name) => json.repair[name]);
  if (steps.length === 0) return [first, said, h("p", { class: "hint" }, t("reuse_whole"))];
  const head = ["", "reuse_to", "reuse_gain", "reuse_cost", ""].map((name) =>
    h("th", { scope: "col", class: name ? "right" : "" }, name ? t(name) : ""),
  );
  const rows = steps.map((name) => repairRow(name, json.repair[name]));
  return [
    first,
    said,
    h("h3", {}, t("reuse_repair")),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
  ];
}

/// The program's own sentence: what its screen says between the picture and the table of repairs.
function saidByProgram(state, all) {
  const { out } = run(reuseArguments(state, all, heldArguments()));
  const text = out.split("\n");
  const from = text.findIndex((line) => / prompt tokens can be skipped\./.test(line));
  if (from < 0) return "";
  const to = text.findIndex((line, i) => i > from && !/^ {4}/.test(line));
  return text
    .slice(from, to < 0 ? undefined : to)
    .map((line) => line.trim())
    .join(" ");
}

function answer() {
  const { state } = shown;
  const all = prompt(state);
  const { json, error } = ask([...reuseArguments(state, all, heldArguments()), "--json"]);
  if (!json) return byId("reuse-answer").replaceChildren(h("p", { class: "error", lang: "en" }, error));
  const needed = json.groups.map(pagesNeeded);
  const repair = json.repair.longest ? neededAt(json.repair.longest.tokens) : groups.map(() => new Set());
  mark(json, needed, repair);
  byId("reuse-answer").replaceChildren(...answerWords(json, saidByProgram(state, all)));
}

function touched() {
  shown.state.held = heldText();
  answer();
  changed(shown.state.held);
}

/// whenChanged(held): the user has clicked pages.
export function buildReuse(whenChanged) {
  changed = whenChanged;
  const present = (cell) => groups[cell.dataset.g].present[cell.dataset.i];
  const set = (cell, value) => {
    groups[cell.dataset.g].present[cell.dataset.i] = value;
    touched();
  };
  wirePages(byId("reuse-groups"), present, set);
}

function whyNot(state, error) {
  if (error) return error;
  if (countOf(state.pages) > mostPages) return t("reuse_most", { n: mostPages });
  return sentence(run(reuseArguments(state, state.pages, [])).err);
}

/// Asks the model's rules again where they may have changed, and answers.
export function showReuse(state) {
  const place = byId("reuse-groups");
  const { json, error } = ask(rulesArguments(state));
  const none = json && json.groups.length === 0;
  if (!json || none || !(prompt(state) > 0) || countOf(state.pages) > mostPages) {
    groups = [];
    place.replaceChildren();
    const said = none ? t("reuse_off") : whyNot(state, error);
    return byId("reuse-answer").replaceChildren(h("p", { class: none ? "hint" : "error" }, said));
  }
  shown = { state };
  load(state, json);
  place.replaceChildren(...groups.map(groupRow));
  answer();
}
