// The page that shows what was found: its views, the choices above them, the keys, and printing.

let selected = null; // the finding whose verse is open
let view = "reading";

const views = {
  reading: ["Read", reading, "reading"],
  listing: ["List", listing, "listing"],
  map: ["Map", map, "map"],
  table: ["Table", table, "table"],
};

// --- What a report says of itself ---

// A report that begins: `told` is its heading, notes and text.
function beginReport(told) {
  begin(told);
  judgements = new Map();
  selected = null;
  opened.clear();
  litMatch.clear();
  putJudgements(told.judgements ?? []);
  putJudgements(keeper.load([report.key ?? dataId].filter(Boolean)));
  at("title").textContent = report.title;
  at("about").textContent = report.method;
  showNotes(report.notes);
  at("doubt").hidden = !report.doubt;
  at("doubt").textContent = report.doubt ? `This hardly looks like Latin: ${report.doubt}` : "";
  complain("");
  resetChoices();
  views.listing[0] = hasText() ? "List" : "Verses";
  drawViews();
  setView(hasText() ? "reading" : "listing");
  reading.begin();
  survey();
}

// More of it.
function takeReport(more) {
  take(more);
  const keys = new Set(more.findings.map((finding) => finding.key).filter(Boolean));
  putJudgements(keeper.load([...keys]));
  survey();
}

function showNotes(notes) {
  at("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
  at("notes-part").hidden = !notes.length;
}

function complain(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

// --- Choices ---

const LEAST = "allusion-es least";
const atLeast = () => Math.round(95 - 5 * Number(at("least").value)) / 100;

function resetChoices() {
  Object.assign(choices, { words: "", book: "", kind: "", method: "", judged: "" });
  at("words").value = "";
  const least = hasText() ? Number(kept.get(LEAST) ?? 0.3) : 0.1; // of queries all is shown
  at("least").value = Math.round((95 - 100 * least) / 5);
}

// What there is to choose from, after findings have come.
function survey() {
  const all = [["", "all"]];
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort();
  const there = new Set(findings.flatMap((f) => f.matches.map((m) => passageOf(m).book)));
  const kinds = distinct(findings.map((f) => f.matches[0]?.kind));
  const methods = distinct(findings.map((f) => f.method));
  fill(at("book"), [...all, ...books.filter((b) => there.has(b.id)).map((b) => [b.id, b.label])], choices.book);
  fill(at("kind"), [...all, ...kinds.map((each) => [each, each])], choices.kind);
  fill(at("method"), [...all, ...methods.map((each) => [each, each])], choices.method);
  at("kind-part").hidden = !kinds.length;
  at("method-part").hidden = methods.length < 2;
  at("sure").hidden = !hasProbability();
  refresh();
}

// Draws anew what the choices leave.
function refresh() {
  choices.least = hasProbability() ? atLeast() : 0;
  choose();
  if (selected && !visible.includes(selected)) selected = null;
  tell();
  views[view][1].draw();
  panel.draw();
}

function tell() {
  const noun = hasText() || findings.length !== 1 ? "place" : "query";
  const [all, some] = [findings.length, visible.length];
  const judgedNumber = visible.filter(decisionOf).length;
  const counted = some === all ? plural(all, noun) : `${some.toLocaleString("en")} of ${plural(all, noun)}`;
  at("count").textContent = hasText() || all !== 1
    ? `${counted}${judgedNumber ? `, ${judgedNumber} of ${some.toLocaleString("en")} judged` : ""}`
    : plural(findings[0].matches.length, "verse");
  const point = hasProbability() && measuredAt(choices.least);
  at("sums").textContent = point
    ? `Measured on editors’ references in the Patrologia Latina: ${Math.round(100 * point[1])} of 100 such places were right, and ${Math.round(100 * point[2])} of 100 references were found.`
    : hasProbability() ? "How many of them are right was not measured for this." : "";
  at("least").setAttribute("aria-valuetext", `${counted}, probability from ${choices.least}`);
  at("undo").disabled = latestUndone() < 0;
}

// --- Views ---

function drawViews() {
  at("views").replaceChildren(...Object.entries(views)
    .filter(([name]) => name !== "reading" || hasText())
    .map(([name, [label]]) => make("button", {
      type: "button", "aria-pressed": String(name === view), "data-view": name, onclick: () => setView(name),
    }, label)));
}

function setView(name) {
  view = name;
  for (const [each, [, , id]] of Object.entries(views)) at(id).hidden = each !== name;
  document.body.dataset.view = name;
  at("views").querySelectorAll("button").forEach((button) =>
    button.setAttribute("aria-pressed", String(button.dataset.view === name)));
  views[name][1].draw();
  if (selected) views[name][1].reveal(selected);
  panel.draw();
}

// --- Selecting and judging ---

function select(finding, reveal = false) {
  const before = selected;
  selected = finding;
  if (finding === before) return;
  views[view][1].change(before, finding);
  panel.draw();
  if (finding && reveal) views[view][1].reveal(finding);
}

// The next place after the selected one, or the first in the window.
function step(by) {
  const order = view === "table" ? table.ordered() : visible;
  if (!order.length) return;
  const place = order.indexOf(selected);
  const next = place < 0 ? (by > 0 ? 0 : order.length - 1) : place + by;
  if (order[next]) select(order[next], true);
}

// After something about a finding has changed.
function changed(finding) {
  views[view][1].change(finding);
  panel.draw();
  tell();
}

// After judgements have changed: those that are seen may be others now.
function judged() {
  const focused = document.activeElement;
  const place = focused?.closest("[data-passage]");
  const keep = place && {
    passage: place.dataset.passage, number: place.closest("[data-n]")?.dataset.n,
    className: place === focused ? "" : `.${focused.className.trim().split(" ").join(".")}`,
  };
  const before = visible;
  choose();
  if (selected && !visible.includes(selected)) selected = null;
  const same = before.length === visible.length && before.every((each, n) => each === visible[n]);
  if (same && selected && view !== "map") views[view][1].change(selected); else views[view][1].draw();
  panel.draw();
  tell();
  if (keep) {
    const again = document.querySelector(`[data-n="${keep.number}"] [data-passage="${CSS.escape(keep.passage)}"]`);
    (keep.className ? again?.querySelector(keep.className) : again)?.focus({ preventScroll: true });
  }
}

// --- Keys: anywhere but in a field ---

function pressed(event) {
  if (event.key === "Escape") {
    document.querySelectorAll(".menu[open]").forEach((menu) => { menu.open = false; });
    if (selected) select(null);
    return;
  }
  const { target } = event;
  const inField = target.matches("input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !inField && !event.shiftKey) {
    event.preventDefault();
    undo();
    return;
  }
  if (inField || event.ctrlKey || event.altKey || event.metaKey || !findings.length) return;
  if (event.key.startsWith("Arrow") && target.matches("input")) return;
  const verse = target.closest(".verse-entry");
  const press = (what) => (verse ?? at("panel")).querySelector(what);
  const act = {
    j: () => (hasText() ? step(1) : verseStep(1)),
    k: () => (hasText() ? step(-1) : verseStep(-1)),
    arrowright: () => hasText() && step(1),
    arrowleft: () => hasText() && step(-1),
    a: () => press(".judge .accept")?.click(),
    r: () => press(".judge .reject")?.click(),
    c: () => press(".comment")?.focus(),
  }[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
}

// From verse to verse of queries.
function verseStep(by) {
  const verses = [...document.querySelectorAll(".verse-entry")];
  const next = verses[verses.indexOf(document.activeElement.closest(".verse-entry")) + by];
  next?.focus();
}

// --- Saving ---

function drawSaving() {
  at("save").replaceChildren(
    make("button", { type: "button", onclick: saveJudgements }, "Judgements (JSON)"),
    make("button", { type: "button", id: "save-gold", onclick: () => download("gold.jsonl", "application/jsonl", goldLines()) }, "Accepted, as gold links"),
    make("label", { class: "button" }, "Load judgements",
      make("input", { type: "file", id: "load", accept: ".json", onchange: loadJudgements })));
}

// --- Printing: the text with numbers, and the references below it as in an apparatus ---

function printAll() {
  const list = visible.filter((finding) => !isRejected(finding));
  const parts = [];
  if (hasText()) parts.push(...printedText(list));
  parts.push(make("ol", { class: "apparatus" }, list.map((finding) => printedNote(finding))));
  at("printed").replaceChildren(make("h2", {}, report.title), ...parts);
}

function printedText(list) {
  const ends = new Map();
  list.forEach((finding, n) => ends.set(finding.end, [...(ends.get(finding.end) ?? []), n + 1]));
  const places = [...ends.keys()].sort((a, b) => a - b);
  let next = 0;
  return blocks.map((block) => {
    const made = make("p", { class: `text${block.isNew ? " new" : ""}${keepsLines ? " lines" : ""}`, lang: "la" });
    let place = block.start;
    while (next < places.length && places[next] <= block.end) {
      made.append(report.text.slice(place, places[next]), make("sup", {}, ends.get(places[next]).join(",")));
      place = places[next];
      next += 1;
    }
    made.append(report.text.slice(place, block.end));
    return made;
  });
}

function printedNote(finding) {
  if (!hasText()) {
    return make("li", {}, make("i", { lang: "la" }, finding.text), make("ul", {}, finding.matches.slice(0, 3).map((match) =>
      make("li", {}, make("b", {}, passageOf(match).reference), " ", make("span", { lang: "la" }, passageOf(match).text)))));
  }
  const match = shown(finding);
  const is = { accept: "accepted", reject: "rejected" }[decisionOf(finding)];
  return make("li", {}, make("b", {}, `${match.kind === "quotation" ? "" : "cf. "}${passageOf(match).reference}`),
    ` (${[likelihood(match), match.kind, is].filter(Boolean).join(", ")}) `,
    make("i", { lang: "la" }, `${finding.text}: `), make("span", { lang: "la" }, passageOf(match).text),
    judgementOf(finding, match)?.comment ? ` [${judgementOf(finding, match).comment}]` : "");
}

// --- Start ---

function start() {
  for (const [, [, part]] of Object.entries(views)) part.start();
  fill(at("judged"), Object.entries(judgedStates).map(([value, [label]]) => [value, label]), "");
  for (const id of ["book", "kind", "method", "judged"]) {
    at(id).addEventListener("change", () => { choices[id] = at(id).value; refresh(); });
  }
  at("words").addEventListener("input", after(120, () => { choices.words = at("words").value; refresh(); }));
  // Once a frame, however often a hand moves it.
  let sliding = 0;
  at("least").addEventListener("input", () => {
    cancelAnimationFrame(sliding);
    sliding = requestAnimationFrame(() => { kept.set(LEAST, String(atLeast())); refresh(); });
  });
  at("reset").addEventListener("click", () => {
    const { value } = at("least");
    resetChoices();
    at("least").value = value;
    for (const id of ["book", "kind", "method", "judged"]) at(id).value = "";
    refresh();
  });
  at("undo").addEventListener("click", undo);
  document.addEventListener("keydown", pressed);
  // A menu closes when something else is chosen.
  document.addEventListener("click", (event) => document.querySelectorAll(".menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  }));
  addEventListener("beforeprint", printAll);
  addEventListener("afterprint", () => at("printed").replaceChildren());
  startTheme();
  drawSaving();
  drawViews();
  if (!data) return;
  beginReport(data);
  takeReport(data);
}

start();
