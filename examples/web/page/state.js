// What the page asks, and its form in the fragment of the address.
export const defaults = Object.freeze({
  from: "card", // which of the four texts below is the model
  card: "deepseek-v3",
  spec: "61*mla(512,64)",
  config: "",
  file: "", // a path in the program's file system; never in a link
  tokens: "32k",
  batch: "1",
  tp: "8",
  pp: "1",
  dp: "1",
  dtype: "auto",
  engine: "vllm",
  rules: "",
  block: "",
  gpu: "h200",
  util: "",
  other: "",
  weights: "",
  page: "256",
  pages: "32",
  held: "",
});

const kept = Object.keys(defaults).filter((key) => key !== "from" && key !== "file");

/// The fragment: what differs from the defaults. `spec`: the model in one line, for files.
export function toFragment(state, spec) {
  const out = new URLSearchParams();
  if (state.from === "file") out.set("spec", spec || state.spec);
  else out.set(state.from, state.from === "config" ? compact(state.config) : state[state.from]);
  for (const key of kept) {
    const model = key === "card" || key === "spec" || key === "config";
    if (!model && state[key] !== defaults[key]) out.set(key, state[key]);
  }
  return out.toString();
}

export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...defaults };
  for (const key of kept) {
    if (given.has(key)) state[key] = given.get(key);
  }
  for (const from of ["config", "spec", "card"]) {
    if (given.has(from)) state.from = from;
  }
  return state;
}

/// A config without its blanks; as it is when it is no JSON.
export function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text.trim();
  }
}
