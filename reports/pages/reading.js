// The reading view: the text as in a printed edition, what alludes underlined, and the references in
// the margin, level with their lines.

const NOTE_HEIGHT = 24; // pixels of a note in the margin; its middle is level with that of its line
const LONGEST_BLOCK = 1100; // characters of a paragraph that are drawn at once

let blocks = []; // { start, end, isNew: whether a paragraph begins, label: of a section }
let longest = 0; // characters of the longest finding
let keepsLines = false; // whether the lines of the text are shown as they are (verse)

// Where paragraphs begin and end: at empty lines; at every line, if lines are as long as paragraphs.
function paragraphs(text) {
  const lines = text.split("\n").filter((line) => line.trim()).map((line) => line.length).sort((a, b) => a - b);
  const typical = lines[lines.length >> 1] ?? 0;
  keepsLines = lines.length > 1 && typical <= 55;
  const border = lines.length > 1 && typical > 130 ? /\n+/g : /\n[^\S\n]*\n\s*/g;
  const found = [];
  let start = 0;
  for (const match of text.matchAll(border)) {
    found.push([start, match.index]);
    start = match.index + match[0].length;
  }
  found.push([start, text.length]);
  return found.filter(([from, to]) => text.slice(from, to).trim());
}

function cutText() {
  const text = report.text ?? "";
  const sections = (report.sections ?? []).map(([place, label]) => [unitsBefore(place), label]);
  blocks = paragraphs(text).flatMap(([from, to]) => {
    const made = [];
    let start = from;
    while (start < to) {
      let end = to;
      if (to - start > LONGEST_BLOCK * 1.4) {
        // At the end of a sentence or a line, so that it is hardly seen.
        const piece = text.slice(start, start + LONGEST_BLOCK);
        const ends = [...piece.matchAll(keepsLines ? /\n/g : /[.!?]\s+/g)].at(-1)
          ?? [...piece.matchAll(/\s+/g)].at(-1);
        end = ends ? start + ends.index + ends[0].length : start + LONGEST_BLOCK;
      }
      made.push({ start, end, isNew: start === from });
      start = end;
    }
    return made;
  });
  let next = 0;
  for (const block of blocks) {
    let label = "";
    while (next < sections.length && sections[next][0] < block.end) { label ||= sections[next][1]; next += 1; }
    block.label = label.replace(/^paragraph .*/, "").replace(/^(section|page) /, (_, of) => (of === "page" ? "p. " : ""));
  }
}

// Visible findings that share characters with a stretch, in the order of the text.
function findingsIn(start, end) {
  let [low, high] = [0, visible.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (visible[middle].start < start - longest) low = middle + 1; else high = middle;
  }
  const found = [];
  for (let n = low; n < visible.length && visible[n].start < end; n += 1) {
    if (visible[n].end > start) found.push(visible[n]);
  }
  return found;
}

const isRejected = (finding) => decisionOf(finding) === "reject";

// Of findings that overlap, a stretch looks like the likeliest.
const strongest = (found) => found.reduce((best, each) =>
  ((probabilityOf(each) ?? 1) > (probabilityOf(best) ?? 1) ? each : best));

function blockElement(block) {
  const found = findingsIn(block.start, block.end);
  const isGone = (finding) => isRejected(finding) && finding !== selected;
  const text = make("p", { class: "text", lang: "la" });
  const coloured = selected ? selectedWords() : [];
  const borders = new Set([block.start, block.end]);
  for (const { start, end } of [...found, ...coloured]) {
    if (start > block.start && start < block.end) borders.add(start);
    if (end > block.start && end < block.end) borders.add(end);
  }
  const places = [...borders].sort((a, b) => a - b);
  const lit = selected && found.includes(selected) ? selected : null;
  places.slice(0, -1).forEach((from, n) => {
    const piece = report.text.slice(from, places[n + 1]);
    const all = found.filter((finding) => finding.start <= from && finding.end > from);
    if (!all.length) { text.append(piece); return; }
    const begins = all.filter((finding) => finding.start === from).map((finding) => finding.number).join(" ");
    const of = all.filter((finding) => !isGone(finding));
    // What was rejected has no line, but its note still stands level with it.
    if (!of.length) { text.append(make("span", { "data-begins": begins || undefined }, piece)); return; }
    const best = strongest(of);
    const word = coloured.find(({ start, end }) => start <= from && end > from);
    text.append(make("span", {
      class: ["f", shown(best)?.kind ?? "allusion", `dark${darkness(shown(best))}`,
        lit && of.includes(lit) ? "on" : "", word ? `c${word.colour}` : "", decisionOf(best)]
        .filter(Boolean).join(" "),
      "data-n": (lit && of.includes(lit) ? lit : best).number,
      "data-begins": begins || undefined,
    }, piece));
  });
  const margin = make("div", { class: "margin" });
  const own = found.filter((finding) => finding.start >= block.start);
  margin.append(...own.map(marginNote));
  return make("div", { class: `block${block.isNew ? " new" : ""}${keepsLines ? " lines" : ""}` },
    block.label ? make("span", { class: "section" }, block.label) : undefined, text, margin);
}

function marginNote(finding) {
  const match = shown(finding);
  const decision = decisionOf(finding);
  const reference = passageOf(match).reference;
  const is = { accept: ", accepted", reject: ", rejected" }[decision] ?? "";
  return make("button", {
    type: "button", class: `note dark${darkness(match)} ${decision}${finding === selected ? " on" : ""}`,
    "data-n": finding.number, "aria-current": finding === selected && "true",
    "aria-label": `${match.kind && match.kind !== "quotation" ? "cf. " : ""}${reference}, ${[likelihood(match), match.kind].filter(Boolean).join(" ")}${is}: ${finding.text}`,
  }, match.kind && match.kind !== "quotation" ? make("i", {}, "cf. ") : "", reference);
}

// Puts the notes of blocks level with the lines where their findings begin. What is measured and what is
// changed take turns for all blocks at once, since each turn costs a layout of the page.
function placeNotes(elements) {
  const noted = elements.filter((element) => element.lastElementChild.firstChild);
  const levels = noted.map(levelsOf).map((rows) => rows.map(([y, notes]) => [y, make("div", { class: "level" }, notes)]));
  levels.forEach((rows, n) => noted[n].lastElementChild.replaceChildren(...rows.map(([, row]) => row)));
  // Only notes side by side may need more than one line.
  const heights = levels.map((rows) => rows.map(([, row]) => (row.children.length > 1 ? row.offsetHeight : NOTE_HEIGHT)));
  levels.forEach((rows, n) => {
    let free = 0;
    rows.forEach(([y, row], m) => {
      const at = Math.max(y, free);
      row.style.top = `${at}px`;
      free = at + heights[n][m];
    });
    noted[n].style.minHeight = `${free}px`;
  });
}

// The notes of a block by the line where their findings begin: [pixels from its top, notes]. Those of one
// line stand side by side, and none over another.
function levelsOf(element) {
  const notes = [...element.lastElementChild.querySelectorAll(".note")];
  const top = element.getBoundingClientRect().top;
  const spans = new Map();
  element.querySelectorAll("[data-begins]").forEach((span) =>
    span.dataset.begins.split(" ").forEach((number) => spans.set(number, span)));
  const rows = new Map();
  let last = 0;
  for (const note of notes) {
    const span = spans.get(note.dataset.n);
    const line = span?.getClientRects()[0];
    const y = line ? Math.round(line.top + line.height / 2 - NOTE_HEIGHT / 2 - top) : last;
    last = y;
    const near = [...rows.keys()].find((known) => Math.abs(known - y) < 8);
    if (near === undefined) rows.set(y, [note]); else rows.get(near).push(note);
  }
  return [...rows].sort(([a], [b]) => a - b);
}

// Where the words of the selected pair stand in the text, and in which colour.
function selectedWords() {
  const match = shown(selected);
  const colours = pairColours(match).query;
  const units = [...selected.text];
  const before = (n) => units.slice(0, n).join("").length;
  return match.query.flatMap(([start, end], n) => (colours.has(n)
    ? [{ start: selected.start + before(start), end: selected.start + before(end), colour: colours.get(n) }] : []));
}

// The colour of each word that carries a match: the words of a pair have the same. A word of the text keeps
// its colour with every verse.
const COLOURS = [1, 2, 3, 4, 5, 6];
function pairColours(match) {
  const [query, words, used] = [new Map(), new Map(), new Set()];
  const most = Math.max(...match.pairs.map((pair) => pair[2] ?? 1), 0);
  for (const [, , added, left, right] of match.pairs) {
    if (used.size === COLOURS.length) break;
    if (!left.length || !right.length || (added !== null && added < most / 10)) continue;
    if (left.some((n) => query.has(n)) || right.some((n) => words.has(n))) continue;
    const colour = colourOf(match.query[left[0]][0], match.coloured, used);
    used.add(colour);
    left.forEach((n) => query.set(n, colour));
    right.forEach((n) => words.set(n, colour));
  }
  return { query, words };
}

// The colour of the word that begins there; `coloured` has those of the finding's other words, and those
// of `used` are taken by other words of the same verse.
function colourOf(start, coloured, used) {
  const own = coloured.get(start);
  if (own && !used.has(own)) return own;
  const others = new Set(coloured.values());
  const free = COLOURS.filter((colour) => !used.has(colour));
  const colour = free.find((each) => !others.has(each)) ?? free[0];
  if (!own) coloured.set(start, colour);
  return colour;
}

// --- The view ---

const reading = {
  start() {
    this.scroller = new Scroller(at("reading"), {
      show: blockElement, place: placeNotes, guess: (block) => this.guess(block),
    });
    this.scroller.onresize = () => {
      this.perLine = 0;
      this.scroller.heights = blocks.map((block) => this.guess(block));
      this.draw();
    };
    at("reading").addEventListener("click", (event) => {
      const place = event.target.closest("[data-n]");
      if (place) select(findings[Number(place.dataset.n)]);
    });
  },

  // From the width of the column and of a letter.
  guess(block) {
    this.perLine ||= Math.max(20, Math.min(at("reading").clientWidth - 110, 620) / 8.4);
    return Math.ceil((block.end - block.start) / this.perLine) * 28 + (block.isNew ? 8 : 0);
  },

  begin() {
    cutText();
    longest = 0;
    this.scroller.set(blocks, true);
  },

  draw() {
    longest = Math.max(0, ...visible.map((finding) => finding.end - finding.start));
    this.scroller.set(blocks, true);
  },

  blockOf: (finding) => blocks.find((block) => finding.start >= block.start && finding.start < block.end)
    ?? blocks.findLast((block) => block.start <= finding.start),

  // Draws again what a change of some findings touches.
  change(...changed) {
    const touched = new Set(changed.filter(Boolean).flatMap((finding) => blocks.filter((block) =>
      block.start < finding.end && block.end > finding.start)));
    touched.forEach((block) => this.scroller.refresh(block));
  },

  reveal(finding) {
    const block = this.blockOf(finding);
    if (!block) return;
    const share = (finding.start - block.start) / Math.max(1, block.end - block.start);
    this.scroller.reveal(block, share * this.scroller.heights[blocks.indexOf(block)]);
  },
};
