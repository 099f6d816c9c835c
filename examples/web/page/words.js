// The page's own words in English and Chinese. The program's sentences stay as it prints them.
const dictionary = {
  title: ["KV cache calculator", "KV 缓存计算器"],
  lead: [
    "How many bytes a model's cache takes, what fits on a GPU, and how far a prompt can be skipped. Computed in this page by the same code as the command-line program; nothing is sent anywhere.",
    "模型的缓存占多少字节、一块 GPU 放得下多少、提示词能跳过多长。由本页内与命令行程序相同的代码计算，不发送任何数据。",
  ],
  skip: ["Skip to the numbers", "跳到结果"],
  language: ["中文", "English"],
  language_label: ["切换到中文", "Switch to English"],
  theme_label: ["Theme", "主题"],
  theme_auto: ["Auto", "自动"],
  theme_light: ["Light", "浅色"],
  theme_dark: ["Dark", "深色"],
  empty: [
    "No model yet: choose a name, write a line, paste a config.json or choose a file.",
    "尚无模型：请选择名称、手写一行、粘贴 config.json 或选择文件。",
  ],
  loading: ["Starting …", "启动中……"],
  broken: ["This browser cannot run the calculator: ", "此浏览器无法运行计算器："],

  model: ["Model", "模型"],
  from_card: ["Known", "已知模型"],
  from_spec: ["By hand", "手写"],
  from_config: ["config.json", "config.json"],
  from_file: ["File", "文件"],
  card_label: ["Name or Hugging Face id", "名称或 Hugging Face id"],
  card_hint: ["{n} models are known.", "共收录 {n} 个模型。"],
  card_none: [
    "Nothing matches. Press Enter to ask for this name anyway.",
    "没有匹配项。按回车仍按此名称查询。",
  ],
  spec_label: ["The model in one line", "一行描述模型"],
  spec_hint: ["count*layer + …, for example:", "层数*层 + ……，例如："],
  hand: ["Or build it:", "或者拼出来："],
  hand_layers: ["Layers", "层数"],
  hand_kind: ["Kind", "类型"],
  hand_gqa: ["Heads (GQA, MHA)", "多头 (GQA、MHA)"],
  hand_mla: ["Latent (MLA)", "潜向量 (MLA)"],
  hand_window: ["Window", "滑动窗口"],
  hand_heads: ["KV heads", "KV 头数"],
  hand_dim: ["Head width", "头宽"],
  hand_latent: ["Latent", "潜向量宽"],
  hand_rope: ["Rope key", "rope 键宽"],
  hand_span: ["Window tokens", "窗口词元数"],
  hand_width: ["width {n}", "宽 {n}"],
  hand_add: ["Add to the line", "加到行尾"],
  hand_set: ["Make it the model", "用作模型"],
  config_label: ["Paste a config.json", "粘贴 config.json"],
  fetch_title: ["Fetch it from Hugging Face (uses the network)", "从 Hugging Face 获取（使用网络）"],
  fetch_label: ["Model id, such as Qwen/Qwen3-8B", "模型 id，例如 Qwen/Qwen3-8B"],
  fetch_button: ["Fetch config.json", "获取 config.json"],
  fetch_busy: ["Fetching …", "获取中……"],
  fetch_failed: ["Could not fetch it: {why}", "获取失败：{why}"],
  fetch_id: ["an id is OWNER/NAME", "id 的形式为 OWNER/NAME"],
  file_label: ["Choose a .gguf or config.json", "选择 .gguf 或 config.json"],
  file_drop: [
    "or drop it here. Only the header is read, and it stays in this page.",
    "或拖放到此处。只读取文件头，文件不会离开本页。",
  ],
  file_read: ["{name}: read {n} of its first bytes", "{name}：读取了开头 {n}"],

  load: ["Load", "负载"],
  tokens: ["Tokens of a request", "每个请求的词元数"],
  batch: ["Requests at once", "同时请求数"],
  parallel: ["Parallelism", "并行"],
  tp: ["Tensor parallel (TP)", "张量并行 (TP)"],
  pp: ["Pipeline stages (PP)", "流水线级数 (PP)"],
  dp: ["Replicas (DP)", "副本数 (DP)"],
  engine_group: ["Engine and GPU", "引擎与 GPU"],
  dtype: ["KV cache dtype", "KV 缓存数据类型"],
  engine: ["Engine", "引擎"],
  engine_exact: ["none: held bytes only", "无：只算保存的字节"],
  rules: ["Version or date of its rules", "规则的版本或日期"],
  rules_hint: ["newest", "最新"],
  block: ["Tokens of a block", "块大小（词元）"],
  block_auto: ["auto", "自动"],
  block_none: ["this engine has no such setting", "此引擎无此设置"],
  gpu: ["GPU", "GPU"],
  gpu_none: ["none", "不选"],
  more: ["Memory, in detail", "显存细节"],
  util: ["Share the engine may use", "引擎可用比例"],
  other: ["Non-KV memory of a rank", "每个 rank 的非 KV 显存"],
  other_hint: ["unknown; e.g. 4GiB", "未知；例如 4GiB"],
  weights: ["Weights of a rank", "每个 rank 的权重"],
  weights_hint: ["known or derived", "已知或推导"],
  reset: ["Reset", "重置"],

  numbers: ["Numbers", "结果"],
  per_token: ["One more token", "每多一个词元"],
  per_token_sub: ["on a rank: {n}", "每个 rank:{n}"],
  states_sub: ["and {n} of states per request", "另有每请求状态 {n}"],
  each_rank: ["Held on each rank", "每个 rank 保存"],
  fullest_rank: ["Held on the fullest rank", "最满的 rank 保存"],
  all_ranks: ["Held on all {n} ranks", "全部 {n} 个 rank 合计保存"],
  unique: ["Each byte once", "每字节只计一次"],
  reserved: ["{engine} sets aside for a request", "{engine} 为一个请求预留"],
  reserved_units: ["{n} {unit}", "{n} {unit}"],
  tokens_of: ["{batch} × {tokens} tokens", "{batch} × {tokens} 个词元"],
  fits: ["Fits", "放得下"],
  fits_if: ["Fits if non-KV memory is at most {n} a GPU", "放得下，条件是每块 GPU 的非 KV 显存不超过 {n}"],
  fits_not: ["Does not fit", "放不下"],
  lacking: ["{n} are lacking", "还差 {n}"],
  no_gpu: ["Choose a GPU to see what fits.", "选择 GPU 以查看能否放下。"],
  weights_are: ["Weights of a rank", "每个 rank 的权重"],
  most: ["Most requests of {tokens} tokens at once", "{tokens} 个词元的请求最多同时"],
  longest: ["Longest request", "最长请求"],
  longest_value: ["{n} tokens", "{n} 个词元"],
  upper: ["(with no other memory at all)", "（假设没有其他显存占用）"],
  will_log: ["The engine will log", "引擎日志将显示"],
  rules_used: ["Rules", "规则"],
  changes: ["What would make it fit", "怎样才能放下"],
  apply: ["Apply: {words}", "应用：{words}"],

  map: ["Layer map", "层图"],
  map_hint: [
    "One cell for each layer, in order; the letter is its kind, the bar its share of the fullest layer.",
    "每格一层，按顺序；字母表示类型，条形表示相对最满层的占比。",
  ],
  map_label: ["{n} layers: {words}", "{n} 层：{words}"],
  layer: ["Layer {n}", "第 {n} 层"],
  no_cache: ["no cache", "无缓存"],
  shares: ["reads layer {n}'s cache", "使用第 {n} 层的缓存"],
  col_kind: ["Kind", "类型"],
  col_what: ["What is kept", "保存内容"],
  col_layers: ["Layers", "层"],
  col_per_token: ["Per token", "每词元"],
  col_held: ["Held", "保存"],
  col_tp: ["TP", "TP"],

  ranks: ["Ranks: what TP divides, what it copies", "各 rank:TP 切分什么、复制什么"],
  ranks_now: ["Each rank now", "当前各 rank"],
  rank_name: ["rank {n}", "rank {n}"],
  ranks_name: ["ranks {n} ({count} equal)", "rank {n}（{count} 个相同）"],
  divided: ["divided", "切分"],
  copied: ["copied: whole on each rank", "复制：每个 rank 一整份"],
  partly: ["copied {n} times", "复制 {n} 份"],
  ranks_tp: ["A rank as TP grows", "TP 增大时的单个 rank"],
  ranks_tp_hint: ["Marks: what an even division would leave.", "标记：若能均分应剩多少。"],
  ranks_tp_say: [
    "TP {to} leaves {percent} of what TP {from} holds on a rank.",
    "TP {to} 时每个 rank 保留 TP {from} 的 {percent}。",
  ],
  ranks_tp_same: ["Unchanged as TP grows: nothing here is divided.", "TP 增大时不变：没有可切分的内容。"],
  left_out: ["Not possible", "不可行"],

  growth: ["Growth with length", "随长度增长"],
  growth_label: [
    "Bytes on the fullest rank by length; requests at once: {batch}.",
    "最满的 rank 上的字节数，按长度；同时请求数：{batch}。",
  ],
  growth_held: ["held", "保存"],
  growth_reserved: ["reserved", "预留"],
  growth_fit: ["longest that fits: {n}", "最长可容纳：{n}"],
  growth_pool: ["engine's pools: {n}", "引擎缓存池：{n}"],
  growth_now: ["now", "当前"],
  growth_x: ["tokens of a request", "每个请求的词元数"],
  growth_table: ["The same as a table", "同样内容的表格"],

  words: ["The arithmetic", "计算过程"],
  notes: ["Where the facts come from", "依据"],
  pools: ["What the engine makes of the memory", "引擎如何划分显存"],
  pools_units: ["units", "单位数"],
  pools_bytes: ["bytes of a unit", "每单位字节"],
  pools_all: ["allocated", "分配"],
  pools_holds: ["holds", "内容"],
  pools_tokens: ["tokens of a unit", "每单位词元"],
  pools_padding: ["padding of a unit", "每单位填充"],
  pools_request: ["units of a request", "每请求单位数"],

  reuse: ["Prefix reuse", "前缀复用"],
  reuse_hint: [
    "Which pages of a prompt are still in the cache? Click a page, or move with the arrow keys and press Space. A prefix can be skipped where every group has what it needs.",
    "提示词的哪些页还在缓存里？点击某页，或用方向键移动并按空格。只有每组都具备所需内容，前缀才能跳过。",
  ],
  reuse_page: ["Tokens of a page", "每页词元数"],
  reuse_pages: ["Pages of the prompt", "提示词页数"],
  reuse_all: ["all", "全部"],
  reuse_none: ["none", "清空"],
  reuse_group: ["{name}: pages", "{name}：页"],
  reuse_cell: ["page {n}, tokens {first} to {last}: {what}", "第 {n} 页，词元 {first} 至 {last}：{what}"],
  present: ["present", "在"],
  missing: ["missing", "缺失"],
  reuse_answer: ["{n} of {all} prompt tokens can be skipped", "{all} 个提示词词元中可跳过 {n} 个"],
  reuse_limit: ["limited by {name}", "受限于 {name}"],
  reuse_repair: ["Repair", "修复"],
  reuse_to: ["to skip", "可跳过"],
  reuse_gain: ["gained", "增加"],
  reuse_cost: ["fetch or recompute", "需取回或重算"],
  reuse_cheapest: ["cheapest step", "代价最小"],
  reuse_best_rate: ["most tokens a byte", "每字节词元最多"],
  reuse_longest: ["longest", "最长"],
  reuse_apply: ["Repair", "修复"],
  reuse_whole: [
    "Nothing longer can be skipped: the last token is always computed.",
    "无法跳过更多：最后一个词元总要计算。",
  ],
  reuse_most: ["At most {n} pages are drawn.", "最多显示 {n} 页。"],
  reuse_off: ["This model keeps nothing that could be reused.", "此模型没有可复用的缓存。"],
  reuse_legend: [
    "filled: present · hollow: missing · ring: needed at the boundary · dots: the longest repair would fetch it",
    "实心：在 · 空心：缺失 · 圈：该边界所需 · 点：最长修复会取回",
  ],

  take: ["Take it with you", "带走结果"],
  link: ["Copy link", "复制链接"],
  cli_size: ["How many bytes", "占多少字节"],
  cli_fit: ["What fits", "放得下多少"],
  copy: ["Copy", "复制"],
  copied_say: ["Copied", "已复制"],
  copy_failed: ["Select the text and copy it", "请选中文字后复制"],
  json: ["JSON", "JSON"],
  json_size: ["size --json", "size --json"],
  json_fit: ["fit --json", "fit --json"],

  kind_full: ["full attention", "全注意力"],
  kind_sliding: ["sliding window", "滑动窗口"],
  kind_chunked: ["chunked", "分块"],
  kind_budgeted: ["budgeted", "限额"],
  kind_cross: ["cross attention", "交叉注意力"],
  kind_prompt_only: ["prompt only", "仅提示词"],
  kind_scales: ["scales", "缩放因子"],
  kind_mla: ["latent (MLA)", "潜向量 (MLA)"],
  kind_compressed: ["compressed latent", "压缩潜向量"],
  kind_index: ["index keys", "索引键"],
  kind_compressor: ["compressor window", "压缩器窗口"],
  kind_state: ["state", "状态"],
  kind_none: ["no cache", "无缓存"],
  kind_shared: ["another layer's cache", "共用其他层"],
};

let column = 0;

export function setLanguage(language) {
  column = language === "zh" ? 1 : 0;
}

export function t(key, values = {}) {
  const entry = dictionary[key];
  if (!entry) return key;
  return entry[column].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/// A kind as the program names it, in words.
export function kindWords(kind) {
  return dictionary["kind_" + kind] ? t("kind_" + kind) : kind.replace("_", " ");
}

/// Writes the words of every element with data-t (text) and data-t-label, data-t-hint (attributes).
export function translate(root) {
  root.querySelectorAll("[data-t]").forEach((element) => (element.textContent = t(element.dataset.t)));
  root
    .querySelectorAll("[data-t-label]")
    .forEach((element) => element.setAttribute("aria-label", t(element.dataset.tLabel)));
  root
    .querySelectorAll("[data-t-hint]")
    .forEach((element) => element.setAttribute("placeholder", t(element.dataset.tHint)));
}
