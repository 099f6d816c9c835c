// From the state of the page to the arguments of the program.
const blockFlags = { vllm: "--block-size", sglang: "--page-size", trtllm: "--tokens-per-block" };

export function modelOf(state) {
  return state[state.from].trim();
}

/// The model as an argument that is never taken for a flag.
function model(state) {
  const text = modelOf(state);
  return text.startsWith("-") ? `--model=${text}` : text;
}

export function blockFlag(engine) {
  return blockFlags[engine] || "";
}

function add(args, flag, value, otherwise = "") {
  const text = String(value).trim();
  if (text !== otherwise) args.push(flag, text);
}

function split(state) {
  const args = [];
  add(args, "--tp", state.tp, "1");
  add(args, "--pp", state.pp, "1");
  add(args, "--dp", state.dp, "1");
  return args;
}

function engine(state) {
  const args = [];
  if (state.engine === "exact") return args;
  args.push("--engine", state.rules.trim() ? `${state.engine}@${state.rules.trim()}` : state.engine);
  if (blockFlag(state.engine)) add(args, blockFlag(state.engine), state.block);
  return args;
}

function load(state, tokens = state.tokens) {
  const args = ["--tokens", String(tokens).trim()];
  add(args, "--batch", state.batch, "1");
  args.push(...split(state));
  add(args, "--kv-cache-dtype", state.dtype, "auto");
  return args;
}

function memory(state) {
  const args = [];
  add(args, "--gpu", state.gpu);
  add(args, "--util", state.util);
  add(args, "--non-kv-bytes", state.other);
  add(args, "--weights-bytes", state.weights);
  return args;
}

export function sizeArguments(state, tokens) {
  return ["size", model(state), ...load(state, tokens)];
}

export function sizeWithEngine(state, tokens) {
  return [...sizeArguments(state, tokens), ...engine(state)];
}

export function fitArguments(state) {
  return ["fit", model(state), ...load(state), ...engine(state), ...memory(state)];
}

export function poolsArguments(state) {
  return [
    "pools",
    model(state),
    ...load(state),
    ...(state.engine === "exact" ? ["--engine", "exact"] : engine(state)),
    ...memory(state),
  ];
}

export function sweepArguments(state, tps) {
  const args = [
    "sweep",
    model(state),
    "--tokens",
    state.tokens.trim(),
    "--tp",
    tps.join(","),
    "--out",
    "json",
  ];
  add(args, "--batch", state.batch, "1");
  add(args, "--dtype", state.dtype, "auto");
  return args;
}

export function rulesArguments(state) {
  return ["reuse", model(state), "--explain", "--json", "--page-tokens", state.page.trim()];
}

/// held: for each group, pages as "0-3,7". limit: most tokens that may be skipped.
export function reuseArguments(state, prompt, held, limit) {
  const args = ["reuse", model(state), "--prompt", String(prompt), "--page-tokens", state.page.trim()];
  add(args, "--kv-cache-dtype", state.dtype, "auto");
  held.forEach((pages, group) => pages && args.push("--held", `${group + 1}=${pages}`));
  if (limit !== undefined) args.push("--limit", String(limit));
  return args;
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

/// The line for a shell. Pasted configs and files are named, not spelled out.
export function commandLine(state, args) {
  const given = modelOf(state);
  const named = { config: "config.json", file: given.split("/").pop() }[state.from];
  return ["kvcap", ...args.map((word) => quoted(named && word === given ? named : word))].join(" ");
}
