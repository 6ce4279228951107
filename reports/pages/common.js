// What the pages share. Text only ever becomes text nodes; nothing is parsed as HTML.

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const dataId = at("data").dataset.id;

// An element; properties that are not the element's own become attributes.
function make(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== ""));
  return made;
}

const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const figure = (value) => value.toPrecision(4);

// For search: no case, no accents, u for v, i for j.
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()
  .replaceAll("v", "u").replaceAll("j", "i").replaceAll("æ", "ae").replaceAll("œ", "oe");

// The browser's storage may be forbidden or full; then things last as long as the page.
const kept = {
  works: true,
  get(key) {
    try { return localStorage.getItem(key); } catch { this.works = false; return null; }
  },
  set(key, value) {
    try { localStorage.setItem(key, value); } catch { this.works = false; }
  },
};

function startTheme() {
  const key = "allusion-es theme";
  const wished = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = kept.get(key) ?? (wished.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    at("theme").textContent = theme === "dark" ? "Light colours" : "Dark colours";
  };
  at("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    kept.set(key, theme);
    document.documentElement.dataset.theme = theme;
    at("theme").textContent = theme === "dark" ? "Light colours" : "Dark colours";
  });
  wished.addEventListener("change", apply);
  apply();
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, label]) =>
    make("option", { value, selected: value === chosen }, label)));
}

function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Calls a function a little after the last of many events.
function after(milliseconds, act) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(act, milliseconds); };
}
