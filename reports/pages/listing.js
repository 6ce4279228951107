// The views besides the text: a list of findings, the verses of queries, and a table.

// --- List: two or three lines a finding ---

function listEntry(finding) {
  const match = shown(finding);
  const passage = passageOf(match);
  return make("div", {
    class: `entry ${decisionOf(finding)}${finding === selected ? " on" : ""}`, "data-n": finding.number,
  },
  make("p", { class: "words", lang: "la" }, contextBefore(finding, 60),
    make("span", { class: `f ${match.kind ?? ""} dark${darkness(match)}` }, finding.text), contextAfter(finding, 60)),
  make("div", { class: "line" },
    make("button", { type: "button", class: "plain reference", "data-n": finding.number, "aria-current": finding === selected && "true" }, passage.reference),
    make("span", { class: "verdict" }, verdict(match)),
    make("span", { class: "quiet" }, nameOf(finding)),
    make("span", { class: "buttons" }, judgeButtons(finding, match, true))),
  make("p", { class: "verse", lang: "la" }, passage.text));
}

const listing = {
  start() {
    this.scroller = new Scroller(at("listing"), {
      show: (finding) => (hasText() ? listEntry(finding) : queryEntry(finding)),
      guess: () => (hasText() ? 95 : 420),
    });
    at("listing").addEventListener("click", (event) => {
      const entry = event.target.closest("[data-n]");
      if (hasText() && entry) select(findings[Number(entry.dataset.n)]);
    });
  },
  draw() { this.scroller.set(visible, true); },
  change(...changed) { changed.filter(Boolean).forEach((finding) => this.scroller.refresh(finding)); },
  reveal(finding) { this.scroller.reveal(finding); },
};

// --- The verses of a query ---

const AT_FIRST = { alone: 20, among: 3 }; // verses of a query that are open
const opened = new Set(); // queries all of whose verses are shown
const litMatch = new Map(); // by query: the match whose words its text is coloured by

function queryEntry(finding) {
  const lit = litMatch.get(finding) ?? finding.matches[0];
  const isAlone = findings.length === 1;
  const most = opened.has(finding) ? Infinity : AT_FIRST[isAlone ? "alone" : "among"];
  const rest = finding.matches.length - most;
  const words = make("div", { class: "asked" });
  const askedText = (match) => {
    const text = colouredText(finding.text, match?.query ?? [], match ? pairColours(match).query : new Map(), "words");
    if (finding.before) text.prepend(make("span", { class: "around" }, `${finding.before} `));
    if (finding.after) text.append(make("span", { class: "around" }, ` ${finding.after}`));
    words.replaceChildren(text);
  };
  askedText(lit);
  const light = (match) => { litMatch.set(finding, match); askedText(match); };
  const name = [finding.work, isAlone ? "" : nameOf(finding)].filter(Boolean).join(", ");
  return make("div", { class: "query", "data-n": finding.number, "data-query": finding.id },
    name ? make("h3", {}, name) : "", words,
    finding.note ? make("p", { class: "quiet" }, finding.note) : "",
    make("ol", { class: "verses" }, finding.matches.slice(0, most).map((match) => verseEntry(finding, match, light))),
    finding.matches.length ? "" : make("p", { class: "quiet" }, "No verse was found."),
    rest > 0 ? make("button", { type: "button", onclick: () => { opened.add(finding); changed(finding); } },
      `${plural(rest, "more verse")}`) : "");
}

function verseEntry(finding, match, light) {
  const passage = passageOf(match);
  return make("li", {
    class: `verse-entry ${judgementOf(finding, match)?.decision ?? ""}`, tabindex: -1,
    "data-passage": passage.id,
    onpointerenter: () => light(match), onfocusin: () => light(match),
  },
  make("h4", {}, passage.reference, match.parallels
    ? make("span", { class: "quiet" }, ` = ${match.parallels.join("; ")}`) : ""),
  verseInContext({ ...match, before: [], after: [] }),
  make("p", { class: "why" }, why(finding, match)),
  make("div", { class: "tools" }, judging(finding, match), copying(match)),
  numbers(finding, match));
}

// --- Table ---

const columnsOf = () => [
  ["Place", (f) => f.number, (f) => nameOf(f)],
  ["Words", (f) => f.words, (f) => f.text],
  ["Verse", (f) => canonical(f), (f) => (shown(f) ? passageOf(shown(f)).reference : "")],
  ...(hasProbability() ? [["How likely", (f) => -probabilityOf(f), (f) => likelihood(shown(f))]]
    : [["Score", (f) => -(shown(f)?.score ?? -Infinity), (f) => (shown(f) ? figure(shown(f).score) : "")]]),
  ["Kind", (f) => shown(f)?.kind ?? "", (f) => shown(f)?.kind ?? ""],
  ["Judgement", (f) => decisionOf(f), (f) => ({ accept: "accepted", reject: "rejected" }[decisionOf(f)] ?? "")],
];

// By book, then chapter and verse.
const canonical = (finding) => {
  const match = shown(finding);
  if (!match) return "";
  const passage = passageOf(match);
  const numbers = idsOf(passage)[0].split(".").slice(1).map((each) => each.padStart(4, "0"));
  return [String(bookOf.get(passage.book)?.place ?? 999).padStart(3, "0"), ...numbers].join(".");
};

const table = {
  sorted: 0,
  start() {
    this.scroller = new Scroller(at("rows"), {
      show: (finding) => make("tr", {
        class: `${decisionOf(finding)}${finding === selected ? " on" : ""}`, "data-n": finding.number,
      }, columnsOf().map(([name, , text], n) => (n === 2 && shown(finding)
        ? make("th", { scope: "row" }, make("button", { type: "button", class: "plain" }, text(finding)))
        : make("td", { title: name === "Words" ? finding.text : undefined, lang: name === "Words" ? "la" : undefined }, text(finding))))),
      guess: () => 34, spacer: "tr",
    });
    at("rows").addEventListener("click", (event) => {
      const row = event.target.closest("[data-n]");
      if (row && hasText()) select(findings[Number(row.dataset.n)]);
    });
    at("copy-table").addEventListener("click", (event) => copy(this.text(), event.currentTarget));
  },
  ordered() {
    const [, value] = columnsOf()[this.sorted];
    const values = new Map(visible.map((finding) => [finding, value(finding)]));
    const compare = (a, b) => {
      const [one, other] = [values.get(a), values.get(b)];
      return one < other ? -1 : one > other ? 1 : a.number - b.number;
    };
    return [...visible].sort(this.isDown ? (a, b) => compare(b, a) : compare);
  },
  draw() {
    at("columns").replaceChildren(...columnsOf().map(([name], n) => make("th", {
      scope: "col", "aria-sort": n === this.sorted ? (this.isDown ? "descending" : "ascending") : undefined,
    }, make("button", {
      type: "button", class: "plain",
      onclick: () => {
        this.isDown = n === this.sorted && !this.isDown;
        this.sorted = n;
        this.draw();
        at("columns").children[n].firstChild.focus();
      },
    }, name))));
    this.scroller.set(this.ordered(), true);
  },
  change(...changed) { changed.filter(Boolean).forEach((finding) => this.scroller.refresh(finding)); },
  reveal(finding) { this.scroller.reveal(finding); },
  // As tabs and lines, for a spreadsheet.
  text() {
    const cell = (text) => String(text).replaceAll(/\s+/g, " ").replace(/^(?=[=+\-@])/, "'");
    const columns = columnsOf();
    return [columns.map(([name]) => name), ...this.ordered().map((f) => columns.map(([, , text]) => cell(text(f))))]
      .map((row) => row.join("\t")).join("\n");
  },
};
