// How each kind of cache looks: a family of colour and pattern, and a letter that tells it without colour.
const looks = {
  full: ["F", "attention"],
  sliding: ["W", "window"],
  chunked: ["C", "window"],
  budgeted: ["B", "window"],
  cross: ["X", "cross"],
  prompt_only: ["P", "cross"],
  scales: ["q", "other"],
  mla: ["L", "latent"],
  compressed: ["Z", "latent"],
  index: ["I", "index"],
  compressor: ["c", "index"],
  mamba1: ["M", "state"],
  mamba2: ["M", "state"],
  gated_delta: ["D", "state"],
  kda: ["K", "state"],
  lightning: ["T", "state"],
  gla: ["G", "state"],
  rwkv: ["R", "state"],
  rglru: ["H", "state"],
  short_conv: ["V", "state"],
  mlstm: ["E", "state"],
  state: ["S", "state"],
};

export function look(kind) {
  const [letter, family] = looks[kind] || ["?", "other"];
  return { letter, family };
}
