// The numbers one asks for first, and whether it fits.
import { byId, h, setText } from "./dom.js";
import { amount, exact, grouped, largest, short } from "./numbers.js";
import { t } from "./words.js";

const engineNames = { vllm: "vLLM", sglang: "SGLang", llamacpp: "llama.cpp", trtllm: "TensorRT-LLM" };

function tile(name) {
  const value = h("dd", { class: "value", "data-number": name });
  const sub = h("dd", { class: "sub", "data-exact": name });
  const label = h("dt", {});
  return { root: h("dl", { class: "tile" }, label, value, sub), label, value, sub };
}

const tiles = {};

function write(name, label, value, sub) {
  if (!tiles[name]) {
    tiles[name] = tile(name);
    byId("tiles").append(tiles[name].root);
  }
  setText(tiles[name].label, label);
  setText(tiles[name].value, value);
  const lines = [].concat(sub).filter(Boolean);
  if (tiles[name].sub.textContent !== lines.join(""))
    tiles[name].sub.replaceChildren(...lines.map((line) => h("span", {}, line)));
}

function hide(name, hidden) {
  if (tiles[name]) tiles[name].root.hidden = hidden;
}

function perTokenSub(size) {
  const rank = largest(size.bytes_per_token_per_rank.map((each) => each.bytes));
  const states = size.state_bytes_per_sequence;
  const parts = [exact(size.bytes_per_token), t("per_token_sub", { n: exact(rank) })];
  if (states > 0) parts.push(t("states_sub", { n: amount(states) }));
  return parts;
}

/// size: `kvcap size --json`
export function showNumbers(size) {
  const point = size.points[0];
  const ranks = point.held_bytes_per_rank.map((each) => each.bytes);
  const fullest = largest(ranks);
  const even = ranks.every((bytes) => bytes === ranks[0]);
  setText(byId("model-name"), size.model.split("/").pop().slice(0, 80) || size.spec);
  setText(byId("spec-line"), size.spec === size.model ? "" : size.spec);
  const token = size.bytes_per_token;
  write("per-token", t("per_token"), amount(token), perTokenSub(size));
  write("rank", t(even ? "each_rank" : "fullest_rank"), amount(fullest), exact(fullest));
  write(
    "all",
    t("all_ranks", { n: ranks.length }),
    amount(point.held_bytes_total),
    exact(point.held_bytes_total),
  );
  write("unique", t("unique"), amount(point.unique_bytes), exact(point.unique_bytes));
}

/// fit: `kvcap fit --json` or null.
export function showReserved(fit, engine) {
  const reserved = fit && engine !== "exact" && !fit.refusal && fit.reserved_bytes_per_request > 0;
  if (reserved) {
    const units = t("reserved_units", { n: grouped(fit.units_per_request), unit: fit.unit });
    write(
      "reserved",
      t("reserved", { engine: engineNames[engine] }),
      amount(fit.reserved_bytes_per_request),
      [exact(fit.reserved_bytes_per_request), units],
    );
  }
  hide("reserved", !reserved);
}

/// quiet: nothing is wrong yet, there is only no model.
export function showModelError(text, quiet = false) {
  const place = byId("error");
  place.hidden = text === "";
  place.classList.toggle("quiet", quiet);
  setText(place, text);
  byId("results").classList.toggle("stale", text !== "");
}

// --- does it fit -------------------------------------------------------------------------------------------------

function verdictWords(fit) {
  if (
    fit.fits &&
    fit.fits_if_non_kv_at_most_bytes !== null &&
    fit.fits_if_non_kv_at_most_bytes !== undefined
  ) {
    return { look: "if", sign: "≈", words: t("fits_if", { n: amount(fit.fits_if_non_kv_at_most_bytes) }) };
  }
  return fit.fits
    ? { look: "yes", sign: "✓", words: t("fits") }
    : { look: "no", sign: "✗", words: t("fits_not") };
}

function why(fit) {
  if (fit.fits) return "";
  if (fit.refusal) return h("p", { lang: "en" }, fit.refusal);
  return fit.lacking_bytes > 0 ? h("p", {}, t("lacking", { n: amount(fit.lacking_bytes) })) : "";
}

function facts(fit) {
  const known = fit.non_kv_bytes !== null && fit.non_kv_bytes !== undefined;
  const upper = known ? "" : ` ${t("upper")}`;
  const rows = [];
  const row = (name, value, lang) => rows.push(h("dt", {}, name), h("dd", lang ? { lang } : {}, value));
  if (fit.weights_bytes_per_rank !== null)
    row(t("weights_are"), `${amount(fit.weights_bytes_per_rank)} (${fit.weights_source})`);
  if (!fit.refusal) {
    row(t("most", { tokens: short(fit.tokens) }), grouped(fit.most_sequences) + upper);
    row(t("longest"), t("longest_value", { n: grouped(fit.longest_tokens) }) + upper);
  }
  for (const line of fit.engine_log) row(t("will_log"), h("code", {}, line), "en");
  row(t("rules_used"), fit.rules, "en");
  return h("dl", { class: "facts" }, rows);
}

/// The settings that a suggested change would set; null where the page has no such setting.
function settingsOf(change) {
  const [flag, value] = change.words.split(" ");
  switch (change.kind) {
    case "shorter":
      return { tokens: short(change.tokens) };
    case "fewer":
      return { batch: String(change.sequences) };
    case "kv_cache_dtype":
      return { dtype: value };
    case "tp":
      return { tp: String(change.sharding.tp) };
    case "pp":
      return { pp: String(change.sharding.pp) };
    default:
      return value && ["--util", "--gpu-memory-utilization", "--mem-fraction-static"].includes(flag)
        ? { util: value }
        : null;
  }
}

function changeButton(change, apply) {
  const settings = settingsOf(change);
  if (!settings) return h("li", { lang: "en" }, change.words);
  const button = h(
    "button",
    { type: "button", class: "plain", "aria-label": t("apply", { words: change.words }) },
    h("span", { lang: "en" }, change.words),
  );
  button.addEventListener("click", () => apply(settings));
  return h("li", {}, button);
}

/// fit: {json, error} of `kvcap fit --json`; null without a GPU. apply(values): takes a suggestion.
export function showVerdict(fit, apply) {
  const place = byId("verdict");
  if (!fit) return place.replaceChildren(h("p", { class: "hint" }, t("no_gpu")));
  if (!fit.json) return place.replaceChildren(h("p", { class: "error", lang: "en" }, fit.error));
  const { look, sign, words } = verdictWords(fit.json);
  const parts = [
    h(
      "p",
      { class: `answer ${look}`, id: "verdict-words" },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      words,
    ),
    why(fit.json),
    facts(fit.json),
  ];
  if (!fit.json.fits && fit.json.changes.length > 0) {
    parts.push(
      h("h3", {}, t("changes")),
      h(
        "ul",
        { class: "changes" },
        fit.json.changes.map((change) => changeButton(change, apply)),
      ),
    );
  }
  place.replaceChildren(...parts.filter(Boolean));
}

/// The line at the foot of a phone's screen.
export function showBar(size, fit) {
  const rank = largest(size.points[0].held_bytes_per_rank.map((each) => each.bytes));
  const verdict = fit && fit.json ? verdictWords(fit.json) : null;
  byId("bar").replaceChildren(
    h("span", {}, h("strong", {}, amount(rank)), ` / rank`),
    h("span", {}, `${amount(size.bytes_per_token)} / token`),
    verdict
      ? h(
          "span",
          { class: `answer ${verdict.look}` },
          verdict.sign,
          " ",
          verdict.look === "if" ? t("fits") + "?" : verdict.words,
        )
      : "",
  );
}
