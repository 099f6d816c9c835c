// The page: what the user sets goes into `state`, `state` into questions to the program, its answers onto the screen.
// The numbers follow every input at once; the verdict, pictures and tables follow when the input rests.
import {
  blockFlag,
  fitArguments,
  modelOf,
  sizeArguments,
  sizeWithEngine,
  sweepArguments,
} from "./arguments.js";
import { buildTake, poolsQuestion, showNotes, showPools, showTake, showWords } from "./details.js";
import { byId, h, setText } from "./dom.js";
import { showGrowth } from "./growth.js";
import { showBar, showModelError, showNumbers, showReserved, showVerdict } from "./headline.js";
import { showLayers } from "./layer_map.js";
import { buildModelInput, showModelInput } from "./model_input.js";
import { countOf, parseExact } from "./numbers.js";
import { ask, run, sentence, startProgram } from "./program.js";
import { showRanks, showTp } from "./ranks.js";
import { buildReuse, showReuse } from "./reuse_play.js";
import { buildSettings } from "./settings.js";
import { allowSlider, buildSliders, showSliders } from "./sliders.js";
import { defaults, fromFragment, toFragment } from "./state.js";
import { t } from "./words.js";

let state = fromFragment(location.hash);
let answers = null; // of the last model that was understood: {size, fit, sizeText, fitText}
let waiting = 0;

const fields = ["dtype", "engine", "gpu", "util", "other", "weights", "rules"];
const dtypes = [
  "auto",
  "bf16",
  "fp8",
  "fp8_ds_mla",
  "fp8_per_token_head",
  "int8_per_token_head",
  "int4_per_token_head",
  "nvfp4",
  "mxfp4",
  "f16",
  "f32",
  "q8_0",
  "q5_1",
  "q5_0",
  "q4_1",
  "q4_0",
  "iq4_nl",
  "turboquant_k8v4",
  "turboquant_4bit_nc",
  "turboquant_3bit_nc",
];

// --- at once: the numbers ----------------------------------------------------------------------------------------

function showNow() {
  if (modelOf(state) === "") return showModelError(t("empty"), true);
  const { code, out, err } = run([...sizeArguments(state), "--json"]);
  showModelError(code === 0 ? "" : sentence(err));
  if (code !== 0) return;
  answers = { sizeText: out, size: parseExact(out), fitText: "", fit: null };
  showNumbers(answers.size);
  showBar(answers.size, null);
  byId("verdict").classList.add("waiting");
}

// --- when the input rests: verdict, pictures, tables, address ----------------------------------------------------

function showFit() {
  if (state.gpu.trim()) {
    const { out, err } = run([...fitArguments(state), "--json"]);
    answers.fitText = out;
    answers.fit = { json: out.startsWith("{") ? parseExact(out) : null, error: sentence(err) };
  }
  showReserved(answers.fit && answers.fit.json, state.engine);
  showVerdict(answers.fit, change);
  showBar(answers.size, answers.fit);
  byId("verdict").classList.remove("waiting");
}

function growthLengths() {
  const now = Number(answers.size.points[0].tokens);
  const lengths = [];
  for (let n = 1024; n <= Math.max(1048576, 2 * now) && n <= 2 ** 40; n *= 2) lengths.push(n);
  return lengths.join(",");
}

function showTpRow() {
  const tps = [...new Set([1, 2, 4, 8, 16, 32, 64, countOf(state.tp) || 1])].sort((a, b) => a - b);
  const asked = { ...state, tokens: String(answers.size.points[0].tokens) };
  const { out, err } = run(sweepArguments(asked, tps));
  showTp(out.startsWith("{") ? parseExact(out) : null, state.tp, sentence(err));
}

function showGrowthNow(pool) {
  const size = ask([...sizeWithEngine(state, growthLengths()), "--json"]);
  const plain = size.json ? size : ask([...sizeArguments(state, growthLengths()), "--json"]);
  if (!plain.json) return byId("growth").replaceChildren(h("p", { class: "error", lang: "en" }, plain.error));
  const sequences = Math.ceil(Number(answers.size.points[0].sequences) / (countOf(state.dp) || 1));
  const limit = state.engine === "llamacpp" || state.engine === "exact" ? 0 : pool;
  showGrowth({
    size: plain.json,
    now: answers.size.points[0].tokens,
    fit: answers.fit && answers.fit.json,
    pool: limit,
    sequences,
    batch: answers.size.points[0].sequences,
  });
}

function link() {
  return `${location.href.split("#")[0]}#${toFragment(state, answers ? answers.size.spec : "")}`;
}

function showAddress() {
  history.replaceState(null, "", link());
}

function showPerLayer() {
  const size = ask([...sizeArguments(state), "--per-layer", "--json"]);
  if (size.json) showLayers(size.json);
}

/// One step after another, so that a new input is never kept waiting for long.
function restSteps() {
  let pool = 0;
  return [
    showFit,
    showPerLayer,
    () => showRanks(answers.size),
    showTpRow,
    () => (pool = showPools(state.gpu.trim() ? ask(poolsQuestion(state)) : null)),
    () => showGrowthNow(pool),
    () => showWords(run([...sizeArguments(state), "--explain"]).out),
    () => showNotes((answers.fit && answers.fit.json ? answers.fit.json : answers.size).notes),
    () => showReuse(state),
    () => showTake(state, { size: answers.sizeText, fit: answers.fitText }),
    showAddress,
    () => (document.body.dataset.settled = "yes"),
  ];
}

function showLater(delay) {
  clearTimeout(waiting);
  document.body.dataset.settled = "no";
  const steps =
    byId("error").hidden && answers ? restSteps() : [() => (document.body.dataset.settled = "yes")];
  const next = () => {
    steps.shift()();
    if (steps.length > 0) waiting = setTimeout(next, 0);
  };
  waiting = setTimeout(next, delay);
}

// --- input -------------------------------------------------------------------------------------------------------

function showControls() {
  showSliders(state);
  showModelInput(state);
  for (const field of fields) {
    const box = byId(field);
    if (box.tagName === "SELECT" && ![...box.options].some((option) => option.value === state[field]))
      box.append(h("option", { value: state[field] }, state[field]));
    if (box.value !== state[field]) box.value = state[field];
  }
  allowSlider(
    "block",
    blockFlag(state.engine) !== "",
    t(blockFlag(state.engine) ? "block_auto" : "block_none"),
  );
}

function otherModel(values) {
  return ["from", "card", "spec", "config", "file"].some((key) => key in values);
}

function change(values) {
  if (otherModel(values) || "page" in values || "pages" in values) state.held = "";
  Object.assign(state, values);
  showNow();
  showControls();
  showLater(otherModel(values) ? 0 : 30);
}

function showEverything() {
  buildOptions();
  showControls();
  showNow();
  showLater(0);
}

function buildOptions() {
  const gpus = JSON.parse(byId("kvcap-gpus").textContent);
  byId("gpu").replaceChildren(
    h("option", { value: "" }, t("gpu_none")),
    ...gpus.map((gpu) => h("option", { value: gpu.name }, gpu.title)),
  );
  byId("dtype").replaceChildren(...dtypes.map((name) => h("option", { value: name }, name)));
}

function buildInput() {
  buildSliders((key, text) => change({ [key]: text }));
  const { json } = ask(["models", "--json"]);
  buildModelInput(state, json ? json.models : [], change);
  fields.forEach((field) =>
    byId(field).addEventListener("input", () => change({ [field]: byId(field).value })),
  );
  byId("reset").addEventListener("click", () => load({ ...defaults }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  buildReuse((held) => {
    state.held = held;
    clearTimeout(waiting);
    waiting = setTimeout(showAddress, 150);
  });
  buildTake(link);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the state
    byId("numbers").focus();
  });
}

function load(given) {
  state = given;
  answers = null;
  showEverything();
}

let width = 0;
function resized() {
  if (answers && Math.abs(window.innerWidth - width) > 8) showLater(150);
  width = window.innerWidth;
}

async function start() {
  try {
    await startProgram(Calculator);
  } catch (failure) {
    return setText(byId("starting"), t("broken") + failure.message);
  }
  buildInput();
  buildSettings(showEverything);
  byId("starting").hidden = true;
  for (const id of ["controls", "results", "bar"]) byId(id).hidden = false;
  showEverything();
  window.addEventListener("hashchange", () => load(fromFragment(location.hash)));
  window.addEventListener("resize", resized);
}

start();
