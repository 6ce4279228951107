// The report: a list of findings, each with the passage that is shown of those that it may mean.
// Findings come all at once, or bit by bit: `begin`, then `take` as often as there are more.

const LEVELS = [0.1, 0.3, 0.6];
let report = { title: "", method: "", notes: [], extent: 0, id: "" };
let findings = [];
let passages = [];
let books = [];
let bookOf = new Map();
let marks = new Map(); // marks[finding][passage] = { decision, comment }
let methods = [];
let kinds = [];
let hasProbability = false;
const chosen = new Map(); // which match of a finding is shown, where it is not the first

const marksKey = () => `allusion-es marks ${report.id}`;
const passageOf = (match) => passages[match.passage];
const markOf = (finding, match) => marks.get(finding.id)?.get(passageOf(match).id);
const decisionOf = (finding) => {
  const all = [...(marks.get(finding.id)?.values() ?? [])];
  return ["accept", "reject"].find((word) => all.some((mark) => mark.decision === word)) ?? "";
};
const isSingle = () => findings.length === 1 && !report.extent;
const nameOf = (finding) => finding.label || finding.id;

// What is shown: what the reader chose, else what was accepted, else the best.
function shown(finding) {
  if (chosen.has(finding.id)) return finding.matches[chosen.get(finding.id)];
  return finding.matches.find((match) => markOf(finding, match)?.decision === "accept")
    ?? finding.matches[0];
}

// A report without findings; `told` is what it says of itself.
function begin(told) {
  report = told;
  [findings, passages, books] = [[], [], []];
  [methods, kinds, hasProbability] = [[], [], false];
  chosen.clear();
  marks = readMarks(kept.get(marksKey()));
  at("title").textContent = report.title;
  at("about").textContent = report.method;
  at("problem").hidden = true;
  showNotes(report.notes);
  // Its button `reset` hides the form's own function.
  HTMLFormElement.prototype.reset.call(at("controls"));
  survey();
}

function showNotes(notes) {
  at("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
}

// More findings, the passages that they are the first to name, and all books so far.
function take(more) {
  books = more.books;
  bookOf = new Map(books.map((book, place) => [book.id, { ...book, place }]));
  for (const passage of more.passages) {
    passage.words = folded(`${passage.reference} ${passage.text}`);
    passages.push(passage);
  }
  for (const finding of more.findings) {
    finding.number = findings.length;
    finding.words = folded([finding.id, finding.text, finding.work ?? ""].join(" "));
    findings.push(finding);
  }
  const matches = more.findings.flatMap((finding) => finding.matches);
  methods = [...new Set([...methods, ...more.findings.map((f) => f.method ?? "")])].sort();
  kinds = [...new Set([...kinds, ...matches.map((match) => match.kind ?? "")])].sort();
  hasProbability ||= matches.some((match) => match.probability !== undefined);
  survey();
}

// --- Marks ---

function readMarks(text) {
  const read = new Map();
  try {
    for (const mark of JSON.parse(text ?? "[]")) {
      if (!read.has(mark.query_id)) read.set(mark.query_id, new Map());
      read.get(mark.query_id).set(mark.passage, {
        decision: ["accept", "reject"].includes(mark.decision) ? mark.decision : "",
        comment: String(mark.comment ?? ""),
      });
    }
  } catch {
    // What is kept is not ours; it is overwritten with the first mark.
  }
  return read;
}

function listMarks() {
  return [...marks].flatMap(([query_id, of]) => [...of].map(([passage, mark]) =>
    ({ query_id, passage, ...mark })));
}

function mark(finding, match, change) {
  if (!marks.has(finding.id)) marks.set(finding.id, new Map());
  const of = marks.get(finding.id);
  const made = { decision: "", comment: "", ...of.get(passageOf(match).id), ...change };
  if (made.decision || made.comment) of.set(passageOf(match).id, made);
  else of.delete(passageOf(match).id);
  keepMarks();
}

function keepMarks() {
  kept.set(marksKey(), JSON.stringify(listMarks()));
  if (!kept.works) complain("This browser does not keep marks: save them to a file before you close the page.");
  tellCount();
}

function complain(text) {
  at("problem").textContent = text;
  at("problem").hidden = false;
}

function saveMarks() {
  const text = JSON.stringify({ report: report.id, title: report.title, marks: listMarks() }, null, 1);
  download("marks.json", "application/json", `${text}\n`);
}

const idsOf = (passage) => passage.ids ?? [passage.id]; // several, if they stand in a row

// As `allusion-es gold` reads them: a line for each query of which a passage was accepted.
function goldLines() {
  return findings.flatMap((finding) => {
    const accepted = finding.matches.filter((match) => markOf(finding, match)?.decision === "accept");
    if (!accepted.length) return [];
    const line = {
      query_id: finding.id, text: finding.text, before: finding.before, after: finding.after,
      relevant: [...new Set(accepted.flatMap((match) => idsOf(passageOf(match))))], type: accepted[0].kind,
      title: finding.work,
    };
    return [`${JSON.stringify(line)}\n`];
  }).join("");
}

async function loadMarks(event) {
  const [file] = event.target.files;
  if (!file) return;
  let read = null;
  try {
    const text = JSON.parse(await file.text());
    if (Array.isArray(text.marks)) read = readMarks(JSON.stringify(text.marks));
  } catch {
    // Said below.
  }
  event.target.value = "";
  if (!read) return complain(`${file.name} is no file of marks; choose one that was saved here.`);
  const known = new Set(findings.map((finding) => finding.id));
  const foreign = [...read.keys()].filter((id) => !known.has(id)).length;
  for (const [id, of] of read) {
    if (known.has(id)) marks.set(id, new Map([...(marks.get(id) ?? []), ...of]));
  }
  at("problem").hidden = true;
  if (foreign) complain(`${plural(foreign, "mark")} of other queries were left out.`);
  keepMarks();
  refresh();
}

// --- Texts ---

const level = (shade) => LEVELS.filter((least) => shade >= least).length;

// A text with its heated words as elements; spans count characters, not UTF-16 units.
function heated(text, words, className) {
  const characters = [...text];
  const made = make("p", { class: `text ${className}`, lang: "la", dir: "auto" });
  const elements = [];
  let place = 0;
  for (const [start, end, contribution, shade] of words) {
    made.append(characters.slice(place, start).join(""));
    const word = make("span", {
      class: `w level${level(shade)}`,
      title: contribution === null ? "carries the finding" : `adds ${figure(contribution)}`,
      "data-contribution": contribution ?? undefined,
    }, characters.slice(start, end).join(""));
    word.style.setProperty("--shade", shade);
    elements.push(word);
    made.append(word);
    place = end;
  }
  made.append(characters.slice(place).join(""));
  return [made, elements];
}

function sourceSide(finding, match) {
  const [text, words] = heated(finding.text, match?.query ?? [], "source");
  // What a scan found stands in its text; what surrounds a query may have lost its blanks.
  const blank = finding.label ? "" : " ";
  if (finding.before) text.prepend(make("span", { class: "context" }, `${finding.before}${blank}`));
  if (finding.after) text.append(make("span", { class: "context" }, `${blank}${finding.after}`));
  return [make("div", { class: "side" }, make("h4", {}, finding.work || "Text"), text), words];
}

function passageSide(match) {
  const passage = passageOf(match);
  const [text, words] = heated(passage.text, match.words, "passage");
  const neighbours = (numbers) => numbers.map((number) => make("p",
    { class: "text neighbour", lang: "la", dir: "auto", hidden: true },
    make("b", {}, passages[number].reference), ` ${passages[number].text}`));
  const around = [...neighbours(match.before), ...neighbours(match.after)];
  const button = make("button", {
    type: "button", class: "neighbours", "aria-expanded": "false",
    onclick: () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", open);
      around.forEach((element) => { element.hidden = !open; });
    },
  }, "Neighbouring passages");
  const side = make("div", { class: "side" }, make("h4", {}, passage.reference),
    around.slice(0, match.before.length), text, around.slice(match.before.length),
    around.length ? button : undefined);
  return [side, words];
}

// --- Word pairs and the lines between them ---

const SVG = "http://www.w3.org/2000/svg";

function pairing(match, sides, queryWords, passageWords) {
  const lines = document.createElementNS(SVG, "svg");
  lines.setAttribute("class", "lines");
  lines.setAttribute("aria-hidden", "true");
  sides.append(lines);
  const most = Math.max(...match.pairs.map((pair) => Math.abs(pair[2])), 0) || 1;

  function light(pairs) {
    lines.replaceChildren();
    sides.querySelectorAll(".lit").forEach((word) => word.classList.remove("lit"));
    const frame = sides.getBoundingClientRect();
    for (const [, , contribution, left, right] of pairs) {
      const words = [left.map((n) => queryWords[n]), right.map((n) => passageWords[n])];
      words.flat().forEach((word) => word.classList.add("lit"));
      for (const one of words[0]) for (const other of words[1]) {
        lines.append(line(one, other, frame, Math.abs(contribution) / most));
      }
    }
  }

  const unlight = () => light([]);
  const hover = (words, side) => words.forEach((word, number) => {
    const of = match.pairs.filter((pair) => pair[side].includes(number));
    if (!of.length) return;
    word.dataset.pairs = of.length;
    word.addEventListener("pointerenter", () => light(of));
    word.addEventListener("pointerleave", unlight);
  });
  hover(queryWords, 3);
  hover(passageWords, 4);
  return pairList(match, light, unlight);
}

function line(one, other, frame, share) {
  const [from, to] = [one, other].map((word) => word.getClientRects()[0]);
  const path = document.createElementNS(SVG, "path");
  const beside = to.left > from.right + 20;
  const x1 = (beside ? from.right : (from.left + from.right) / 2) - frame.left;
  const x2 = (beside ? to.left : (to.left + to.right) / 2) - frame.left;
  // Between the lines of the text, so that no word is struck through where a line begins or ends.
  const y1 = from.bottom - frame.top;
  const y2 = (beside ? to.bottom : to.top) - frame.top;
  const bend = beside ? [(x1 + x2) / 2, y1, (x1 + x2) / 2, y2] : [x1, (y1 + y2) / 2, x2, (y1 + y2) / 2];
  path.setAttribute("d", `M${x1},${y1} C${bend.join(",")} ${x2},${y2}`);
  path.setAttribute("stroke-width", 1 + 3 * share);
  return path;
}

// One stop of the Tab key; arrows go from pair to pair.
function pairList(match, light, unlight) {
  const button = (pair, place) => {
    const [query, passage, contribution] = pair;
    return make("button", {
      type: "button", tabindex: place ? -1 : 0,
      onfocus: () => light([pair]), onblur: unlight, onclick: () => light([pair]),
      onpointerenter: () => light([pair]), onpointerleave: unlight,
    }, query === passage ? query : `${query} ~ ${passage}`, " ",
    contribution === null ? "" : make("span", { class: "amount" }, figure(contribution)));
  };
  const buttons = match.pairs.map(button);
  const rest = [];
  if (match.others) rest.push(`${plural(match.others[0], "other pair")} ${figure(match.others[1])}`);
  for (const [query, passage, contribution] of match.apart) {
    rest.push(`apart from words: ${query === passage ? query : `${query} ${passage}`} ${figure(contribution)}`);
  }
  if (!buttons.length && !rest.length) return undefined;
  const list = make("div", { class: "pairs", role: "group", "aria-label": "Word pairs" },
    buttons, rest.map((text) => make("span", { class: "quiet" }, text)));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step && buttons[buttons.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    buttons.forEach((each) => { each.tabIndex = each === next ? 0 : -1; });
    next.focus();
  });
  return list;
}

// --- An entry ---

function entry(finding) {
  const card = make("article", { tabindex: -1, "data-id": finding.id });
  fillEntry(card, finding);
  card.addEventListener("keydown", (event) => pressed(event, card, finding));
  return card;
}

function fillEntry(card, finding) {
  const match = shown(finding);
  const name = `entry-${finding.number}`;
  const decision = match ? markOf(finding, match)?.decision ?? "" : "";
  card.className = decision;
  card.setAttribute("aria-labelledby", name);
  const header = make("header", {},
    make("h3", { id: name }, `${nameOf(finding)} → ${match ? passageOf(match).reference : "nothing found"}`),
    match?.kind ? make("span", { class: "tag" }, match.kind) : undefined,
    finding.note ? make("span", { class: "quiet" }, finding.note) : undefined);
  const sides = make("div", { class: "sides" });
  const [source, queryWords] = sourceSide(finding, match);
  sides.append(source);
  if (!match) return card.replaceChildren(header, sides);
  const [side, words] = passageSide(match);
  sides.append(side);
  const pairs = pairing(match, sides, queryWords, words);
  const parts = [header, sides, stages(finding, match), pairs, judge(card, finding, match),
    alternatives(card, finding, match)];
  card.replaceChildren(...parts.filter(Boolean));
}

function stages(finding, match) {
  const rows = [
    ["Score", `${figure(match.score)} (rank ${finding.matches.indexOf(match) + 1} of ${finding.matches.length})`],
  ];
  if (match.candidateRank) {
    rows.push(["First stage", `${figure(match.candidateScore)} (rank ${match.candidateRank})`]);
  }
  if (match.parallels) rows.push(["Nearly the same", match.parallels.join("; ")]);
  if (match.probability !== undefined) rows.push(["Probability", figure(match.probability)]);
  if (finding.method && methods.length > 1) rows.push(["Method", finding.method]);
  return make("dl", { class: "stages" }, rows.map(([term, value]) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}

function judge(card, finding, match) {
  const given = markOf(finding, match) ?? { decision: "", comment: "" };
  const reference = passageOf(match).reference;
  const button = (decision, label) => make("button", {
    type: "button", class: decision, "aria-pressed": String(given.decision === decision),
    onclick: () => decide(card, finding, match, decision),
  }, label);
  const comment = make("input", {
    class: "comment", placeholder: "Comment", "aria-label": `Comment on ${nameOf(finding)}, ${reference}`,
    value: given.comment, oninput: () => mark(finding, match, { comment: comment.value.trim() }),
  });
  return make("div", { class: "judge", role: "group", "aria-label": `Your judgement of ${reference}` },
    button("accept", "Accept"), button("reject", "Reject"), comment);
}

function decide(card, finding, match, decision) {
  const same = markOf(finding, match)?.decision === decision;
  mark(finding, match, { decision: same ? "" : decision });
  choosePassage(finding, match);
  const open = card.querySelector(".others")?.open;
  fillEntry(card, finding);
  if (open) card.querySelector(".others").open = true;
  card.querySelector(`.judge .${decision}`).focus();
}

function alternatives(card, finding, current) {
  if (finding.matches.length < 2) return undefined;
  const rows = finding.matches.map((match, place) => {
    const passage = passageOf(match);
    const decision = markOf(finding, match)?.decision;
    const show = make("button", {
      type: "button", "aria-label": `Show ${passage.reference}`, "aria-current": match === current && "true",
      onclick: () => {
        choosePassage(finding, match);
        fillEntry(card, finding);
        const list = card.querySelector(".others");
        list.open = true;
        list.querySelectorAll("button")[place].focus();
      },
    }, "Show");
    return make("li", { class: match === current ? "shown" : "" }, show,
      make("span", {}, passage.reference, decision ? " " : "", decision
        ? make("span", { class: `tag ${decision}` }, `${decision}ed`) : ""),
      make("span", {}, figure(match.score)),
      make("span", { lang: "la", dir: "auto" }, passage.text),
      match.parallels ? make("span", { class: "quiet" }, `= ${match.parallels.join("; ")}`) : "");
  });
  // Of a single query, the list of passages is what one looks for.
  return make("details", { class: "others", open: isSingle() },
    make("summary", {}, `All ${finding.matches.length} passages`), make("ol", {}, rows));
}

const redrawMap = after(300, () => { drawMap(); showBook(); });

function choosePassage(finding, match) {
  chosen.set(finding.id, finding.matches.indexOf(match));
  redrawMap();
}

// Letters are keys only while an entry has the focus, and not in a field.
function pressed(event, card, finding) {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey) {
    if (event.key === "Escape") card.focus();
    return;
  }
  const act = {
    j: () => card.nextElementSibling?.focus(),
    k: () => card.previousElementSibling?.focus(),
    a: () => { card.querySelector(".judge .accept")?.click(); card.focus(); },
    r: () => { card.querySelector(".judge .reject")?.click(); card.focus(); },
    c: () => card.querySelector(".comment")?.focus(),
    n: () => card.querySelector(".neighbours")?.click(),
  }[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
}

// --- Sorting and filtering ---

const bookPlace = (finding) => {
  const match = shown(finding);
  return match ? bookOf.get(passageOf(match).book).place : books.length;
};
const descending = (value) => (a, b) => value(b) - value(a);
const orders = {
  place: ["place in the text", () => 0],
  score: ["score", descending((f) => shown(f)?.score ?? -Infinity)],
  stage: ["rank in the first stage", descending((f) => -(shown(f)?.candidateRank ?? Infinity))],
  book: ["book", descending((f) => -bookPlace(f))],
  probability: ["probability", descending((f) => shown(f)?.probability ?? -1)],
};
const states = {
  "": ["all", () => true],
  none: ["not judged", (f) => !decisionOf(f)],
  accept: ["accepted", (f) => decisionOf(f) === "accept"],
  reject: ["rejected", (f) => decisionOf(f) === "reject"],
  comment: ["with a comment", (f) => [...(marks.get(f.id)?.values() ?? [])].some((m) => m.comment)],
};

const pager = new Pager(entry);

function fits(finding, words, least) {
  const match = shown(finding);
  const passage = match && passageOf(match);
  return (!at("book").value || passage?.book === at("book").value)
    && (!at("kind").value || match?.kind === at("kind").value)
    && (!at("method").value || finding.method === at("method").value)
    && (!least || (match?.probability ?? -1) >= least)
    && states[at("marked").value][1](finding)
    && (!at("place").value || column(finding) === Number(at("place").value))
    && words.every((word) => finding.words.includes(word) || passage?.words.includes(word));
}

// `stay`: leave what is shown where it is, as far as it is still there.
function refresh(stay = false) {
  const words = folded(at("search").value).split(/\s+/).filter(Boolean);
  const least = hasProbability ? Number(at("probability").value) : 0;
  const order = orders[at("sort").value][1];
  const found = findings.filter((finding) => fits(finding, words, least));
  // Ties keep the order of the text.
  found.sort((a, b) => order(a, b) || a.number - b.number);
  pager.set(found, stay);
  tellCount();
  showBook();
}

function tellCount() {
  const all = findings.length;
  const shownOf = pager.items.length === all ? plural(all, "finding")
    : `${pager.items.length.toLocaleString("en")} of ${plural(all, "finding")}`;
  const judged = findings.filter(decisionOf).length;
  at("count").textContent = judged ? `${shownOf}, ${judged} judged` : shownOf;
}

// --- Start ---

// What there is to choose from, and the overview, after findings have come.
function survey() {
  arrange();
  const all = [["", "all"]];
  const choices = (values) => [...all, ...values.filter(Boolean).map((value) => [value, value])];
  const there = new Set(findings.flatMap((f) => f.matches.map((m) => passageOf(m).book)));
  refill(at("book"), [...all, ...books.filter((b) => there.has(b.id)).map((b) => [b.id, b.label])]);
  refill(at("kind"), choices(kinds));
  refill(at("method"), choices(methods));
  refill(at("place"), [...all, ...Array.from({ length: columns }, (_, number) =>
    [String(number), columnName(number)])]);
  at("place-name").textContent = byWork ? "Work" : "Place";
  at("kind-part").hidden = !kinds.some(Boolean);
  at("method-part").hidden = methods.length < 2;
  at("probability-part").hidden = !hasProbability;
  const hasStage = findings.some((f) => f.matches.some((m) => m.candidateRank));
  const sorted = Object.entries(orders).filter(([value]) =>
    (value !== "probability" || hasProbability) && (value !== "stage" || hasStage));
  refill(at("sort"), sorted.map(([value, [label]]) => [value, label]));
  at("overview").hidden = isSingle();
  drawMap();
  refresh(true);
}

function start() {
  fill(at("marked"), Object.entries(states).map(([value, [label]]) => [value, label]), "");
  startList(refresh, ["book", "place", "kind", "method", "marked", "sort"], ["search", "probability"]);
  at("save-marks").addEventListener("click", saveMarks);
  at("save-gold").addEventListener("click", () => download("gold.jsonl", "application/jsonl", goldLines()));
  at("load-marks").addEventListener("change", loadMarks);
  startTheme();
  if (!data) return;
  begin({ ...data, id: dataId });
  take(data);
}

start();
