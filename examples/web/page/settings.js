// Language and theme: the user's own, kept in the browser where it allows that, never in links.
import { byId } from "./dom.js";
import { setLanguage, t, translate } from "./words.js";

function remembered(key) {
  try {
    return localStorage.getItem("kvcap-" + key);
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem("kvcap-" + key, value);
  } catch {
    // a browser that keeps nothing
  }
}

let language = "en";

function showLanguage() {
  setLanguage(language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = `kvcap: ${t("title")}`;
  translate(document);
  byId("language").textContent = t("language");
  byId("language").setAttribute("aria-label", t("language_label"));
  byId("language").lang = language === "zh" ? "en" : "zh-CN";
}

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/// theme: "light", "dark", or nothing: what the system has.
function showTheme(theme) {
  document.documentElement.dataset.theme = theme || (systemIsDark.matches ? "dark" : "light");
  byId("theme").value = theme || "";
}

/// whenChanged(): the language is another one.
export function buildSettings(whenChanged) {
  language = remembered("language") || (navigator.language.startsWith("zh") ? "zh" : "en");
  showLanguage();
  showTheme(remembered("theme"));
  systemIsDark.addEventListener("change", () => showTheme(byId("theme").value));
  byId("language").addEventListener("click", () => {
    language = language === "zh" ? "en" : "zh";
    remember("language", language);
    showLanguage();
    whenChanged();
  });
  byId("theme").addEventListener("change", (event) => {
    remember("theme", event.target.value);
    showTheme(event.target.value);
  });
}
