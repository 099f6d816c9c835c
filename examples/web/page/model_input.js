// Four ways to say which model: a known name, a line, a config.json, a file.
import { byId, h, setText } from "./dom.js";
import { amount, grouped } from "./numbers.js";
import { removeFile, writeFile } from "./program.js";
import { t } from "./words.js";

let cards = [];
let active = -1;
let changed = () => {};
let state = null;

function take(values) {
  changed(values);
}

// --- known names -------------------------------------------------------------------------------------------------

function matching(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return cards.filter((card) =>
    words.every((word) => `${card.name} ${card.hf_id} ${card.family}`.toLowerCase().includes(word)),
  );
}

function closeList() {
  byId("card-list").hidden = true;
  byId("card").setAttribute("aria-expanded", "false");
  byId("card").removeAttribute("aria-activedescendant");
  active = -1;
}

function choose(name) {
  byId("card").value = name;
  closeList();
  take({ card: name });
}

function option(card, i) {
  return h(
    "li",
    {
      role: "option",
      id: `card-${i}`,
      "data-name": card.name,
      "aria-selected": String(card.name === state.card),
    },
    h("span", { class: "name" }, card.name),
    h("span", { class: "hint" }, card.kinds),
  );
}

function openList(text) {
  const found = matching(text);
  const list = byId("card-list");
  list.replaceChildren(...found.map(option));
  if (found.length === 0)
    list.append(h("li", { class: "hint", role: "option", "aria-disabled": "true" }, t("card_none")));
  list.hidden = false;
  byId("card").setAttribute("aria-expanded", "true");
  active = -1;
}

function activate(step) {
  const options = [...byId("card-list").querySelectorAll("[data-name]")];
  if (options.length === 0) return;
  active = (active + step + options.length) % options.length;
  options.forEach((each, i) => each.classList.toggle("active", i === active));
  options[active].scrollIntoView({ block: "nearest" });
  byId("card").setAttribute("aria-activedescendant", options[active].id);
}

function cardKeys(event) {
  const open = !byId("card-list").hidden;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!open) openList("");
    activate(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    event.preventDefault();
    const option = active >= 0 ? byId("card-list").querySelectorAll("[data-name]")[active] : null;
    choose(option ? option.dataset.name : byId("card").value.trim());
  } else if (event.key === "Escape" && open) {
    closeList();
    byId("card").value = state.card;
  }
}

function wireCards() {
  const input = byId("card");
  input.addEventListener("input", () => openList(input.value));
  input.addEventListener("click", () => openList(input.value === state.card ? "" : input.value));
  input.addEventListener("keydown", cardKeys);
  input.addEventListener("blur", () => {
    closeList();
    if (input.value.trim() === "") input.value = state.card;
  });
  byId("card-list").addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the box keeps the focus
    const found = event.target.closest("[data-name]");
    if (found) choose(found.dataset.name);
  });
}

// --- by hand -----------------------------------------------------------------------------------------------------

function handLine() {
  const value = (id) => byId("hand-" + id).value.trim();
  const heads = `gqa(${value("heads")},${value("dim")})`;
  const layer = {
    mla: `mla(${value("latent")},${value("rope")})`,
    gqa: heads,
    window: `window(${value("span")}, ${heads})`,
  };
  return `${value("layers")}*${layer[byId("hand-kind").value]}`;
}

export function showHand() {
  const kind = byId("hand-kind").value;
  byId("hand")
    .querySelectorAll("[class*=for-]")
    .forEach((each) => (each.hidden = !each.classList.contains("for-" + kind)));
  setText(byId("hand-line"), handLine());
  const width = Number(byId("hand-latent").value) + Number(byId("hand-rope").value);
  setText(byId("hand-width"), Number.isFinite(width) ? t("hand_width", { n: grouped(width) }) : "");
}

function wireHand() {
  const spec = byId("spec");
  const set = (text) => {
    spec.value = text;
    take({ spec: text });
  };
  spec.addEventListener("input", () => take({ spec: spec.value }));
  byId("hand").addEventListener("input", showHand);
  byId("hand-set").addEventListener("click", () => set(handLine()));
  byId("hand-add").addEventListener("click", () =>
    set(spec.value.trim() ? `${spec.value.trim()} + ${handLine()}` : handLine()),
  );
}

// --- config.json -------------------------------------------------------------------------------------------------

async function fetchConfig() {
  const id = byId("hub-id").value.trim();
  const say = (text) => setText(byId("hub-say"), text);
  if (!/^[\w.-]+\/[\w.-]+$/.test(id)) return say(t("fetch_failed", { why: t("fetch_id") }));
  say(t("fetch_busy"));
  try {
    const answer = await fetch(`https://huggingface.co/${id}/resolve/main/config.json`);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    byId("config").value = await answer.text();
    say("");
    take({ config: byId("config").value });
  } catch (failure) {
    say(t("fetch_failed", { why: failure.message }));
  }
}

function wireConfig() {
  byId("config").addEventListener("input", () => take({ config: byId("config").value }));
  byId("hub-fetch").addEventListener("click", fetchConfig);
  byId("hub-id").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      fetchConfig();
    }
  });
}

// --- files -------------------------------------------------------------------------------------------------------

/// A GGUF header holds the vocabulary: tens of MiB at most. Weights are never read.
const mostOfFile = 64 * 1048576;

async function readFile(file) {
  const bytes = new Uint8Array(await file.slice(0, mostOfFile).arrayBuffer());
  if (state.file) removeFile(state.file);
  setText(byId("file-say"), t("file_read", { name: file.name, n: amount(bytes.length) }));
  take({ file: writeFile(file.name, bytes) });
}

function wireFiles() {
  const drop = byId("drop");
  byId("file").addEventListener(
    "change",
    (event) => event.target.files[0] && readFile(event.target.files[0]),
  );
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files[0]) readFile(event.dataTransfer.files[0]);
    });
  }
}

// ---

/// `whenChanged(values)`: part of the state that the user has changed.
export function buildModelInput(start, known, whenChanged) {
  state = start;
  cards = known;
  changed = whenChanged;
  document.querySelectorAll("input[name=from]").forEach((radio) => {
    radio.addEventListener("change", () => take({ from: radio.value }));
  });
  wireCards();
  wireHand();
  wireConfig();
  wireFiles();
}

export function showModelInput(now) {
  state = now;
  for (const from of ["card", "spec", "config", "file"]) {
    byId("from-" + from).hidden = now.from !== from;
    document.querySelector(`input[name=from][value=${from}]`).checked = now.from === from;
  }
  for (const from of ["card", "spec", "config"]) {
    const box = byId(from);
    if (box.value !== now[from] && document.activeElement !== box) box.value = now[from];
  }
  setText(byId("card-hint"), t("card_hint", { n: cards.length }));
  showHand();
}
