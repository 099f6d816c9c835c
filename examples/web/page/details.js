// The arithmetic, the notes, the engine's pools, the command lines and the JSON.
import { commandLine, fitArguments, poolsArguments, sizeArguments } from "./arguments.js";
import { byId, h, setText, stacking } from "./dom.js";
import { amount, exact, grouped, sum } from "./numbers.js";
import { t } from "./words.js";

export function showWords(text) {
  setText(byId("words"), text.trimEnd());
}

export function showNotes(notes) {
  byId("notes").replaceChildren(
    ...notes.map((note) =>
      h(
        "li",
        {},
        h("span", { class: `origin ${note.origin}` }, note.origin),
        " ",
        h("code", {}, note.where),
        ` ${note.text}`,
      ),
    ),
  );
}

function table(columns, rows) {
  const head = columns.map((name, i) => h("th", { scope: "col", class: i > 0 ? "right" : "" }, name));
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      row.map((text, i) => h("td", { class: i > 0 ? "right" : "" }, text)),
    ),
  );
  return stacking(h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

function poolTables(engine) {
  const pools = engine.pools.map((pool, i) => [
    `${i + 1}`,
    grouped(pool.units),
    exact(pool.unit_bytes),
    amount(pool.allocated_bytes),
  ]);
  const groups = engine.groups.map((group) => [
    h("span", { lang: "en" }, group.holds),
    grouped(group.tokens_per_unit),
    exact(group.page_bytes),
    exact(group.padding_bytes),
    grouped(group.units_per_request),
  ]);
  const out = [];
  if (pools.length) out.push(table(["", t("pools_units"), t("pools_bytes"), t("pools_all")], pools));
  if (groups.length)
    out.push(
      table(
        [t("pools_holds"), t("pools_tokens"), t("pools_bytes"), t("pools_padding"), t("pools_request")],
        groups,
      ),
    );
  return out;
}

/// pools: {json, error} of `kvcap pools --json`, or null without a GPU. Returns the bytes of all pools on a rank.
export function showPools(pools) {
  const place = byId("pools");
  if (!pools) return (place.replaceChildren(h("p", { class: "hint" }, t("no_gpu"))), 0);
  if (!pools.json) return (place.replaceChildren(h("p", { class: "error", lang: "en" }, pools.error)), 0);
  const engine = pools.json.engines[0];
  const refusal = engine.refusal ? h("p", { class: "error", lang: "en" }, engine.refusal) : "";
  const log = engine.engine_log.length
    ? h("pre", { class: "code", lang: "en" }, engine.engine_log.join("\n"))
    : "";
  const rules = h("p", { class: "hint", lang: "en" }, `${engine.rules} · ${engine.unit}`);
  place.replaceChildren(...[rules, refusal, ...poolTables(engine), log].filter(Boolean));
  return engine.refusal ? 0 : sum(engine.pools.map((pool) => pool.allocated_bytes));
}

/// outputs: what `size --json` and `fit --json` printed.
export function showTake(state, outputs) {
  setText(byId("cli-size"), commandLine(state, sizeArguments(state)));
  setText(byId("cli-fit"), commandLine(state, fitArguments(state)));
  setText(byId("json-size"), outputs.size.trimEnd());
  setText(byId("json-fit"), outputs.fit.trimEnd());
}

export function poolsQuestion(state) {
  return [...poolsArguments(state), "--json"];
}

async function copy(text, source) {
  try {
    await navigator.clipboard.writeText(text);
    setText(byId("copy-say"), t("copied_say"));
  } catch {
    if (source) getSelection().selectAllChildren(source);
    setText(byId("copy-say"), t("copy_failed"));
  }
}

/// link(): the address that says everything.
export function buildTake(link) {
  byId("copy-link").addEventListener("click", () => copy(link()));
  document.querySelectorAll("[data-copy]").forEach((button) => {
    button.addEventListener("click", () =>
      copy(byId(button.dataset.copy).textContent, byId(button.dataset.copy)),
    );
  });
}
