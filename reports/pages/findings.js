// What was found: findings and passages, which of them a reader wants to see, and in which order.
// They come all at once or bit by bit: `begin`, then `take` as often as there are more.

let report = { title: "", method: "", notes: [], extent: 0, program: "" };
let findings = [];
let passages = [];
let books = [];
let bookOf = new Map();
let visible = []; // findings that the choices leave, in the order of the text
const shownMatch = new Map(); // by finding: the match that a reader chose to see

const choices = { least: 0, words: "", book: "", kind: "", method: "", judged: "" };

const hasText = () => Boolean(report.text);
const passageOf = (match) => passages[match.passage];
const idsOf = (passage) => passage.ids ?? [passage.id]; // several, if they stand in a row
const nameOf = (finding) => finding.label || finding.id;
const probabilityOf = (finding) => finding.matches[0]?.probability;
const hasProbability = () => findings.some((finding) => probabilityOf(finding) !== undefined);

// The match that is shown: what the reader chose, else what was accepted, else the best.
function shown(finding) {
  return shownMatch.get(finding)
    ?? finding.matches.find((match) => judgementOf(finding, match)?.decision === "accept")
    ?? finding.matches[0];
}

// A report without findings; `told` is what it says of itself.
function begin(told) {
  report = told;
  [findings, passages, books, visible] = [[], [], [], []];
  shownMatch.clear();
  measureCharacters(report.text ?? "");
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
    finding.length = [...finding.text].length;
    const coloured = new Map(); // see pairColours
    finding.matches.forEach((match) => { match.coloured = coloured; });
    if (hasText()) {
      finding.start = unitsBefore(finding.place);
      finding.end = unitsBefore(finding.place + finding.length);
    }
    findings.push(finding);
  }
}

// Places count characters; a string of this language counts some of them twice.
let wideCharacters = [];
function measureCharacters(text) {
  wideCharacters = [];
  let characters = 0;
  if (!/[\u{10000}-\u{10ffff}]/u.test(text)) return;
  for (const character of text) {
    if (character.length > 1) wideCharacters.push(characters);
    characters += 1;
  }
}

function unitsBefore(place) {
  let before = 0;
  for (const wide of wideCharacters) { if (wide < place) before += 1; else break; }
  return place + before;
}

// --- Which to see ---

const judgedStates = {
  "": ["all", () => true],
  none: ["not judged", (finding) => !decisionOf(finding)],
  accept: ["accepted", (finding) => decisionOf(finding) === "accept"],
  reject: ["rejected", (finding) => decisionOf(finding) === "reject"],
  comment: ["with a comment", (finding) => finding.matches.some((m) => judgementOf(finding, m)?.comment)],
};

function choose() {
  const words = folded(choices.words).split(/\s+/).filter(Boolean);
  const reference = readReference(choices.words);
  visible = findings.filter((finding) => fits(finding, words, reference));
}

const isLikely = (finding) => (probabilityOf(finding) ?? 1) >= choices.least - 1e-9;

function fits(finding, words, reference) {
  const match = shown(finding);
  const passage = match && passageOf(match);
  // What a reader accepted stays, however unlikely.
  return (isLikely(finding) || decisionOf(finding) === "accept")
    && (!choices.book || passage?.book === choices.book)
    && (!choices.kind || match?.kind === choices.kind)
    && (!choices.method || finding.method === choices.method)
    && judgedStates[choices.judged][1](finding)
    && ((reference && finding.matches.some((each) => reference(passageOf(each))))
      || words.every((word) => finding.words.includes(word) || passage?.words.includes(word)));
}

// What somebody may type into the search box, as a test of passages: "Ps 22", "Psalm 22,5", "John".
// Null where it begins with no book's name.
function readReference(typed) {
  const parts = /^\s*([1-5]?[^\d,.:]*?)[\s.]*(\d+)?(?:\s*[,.:]\s*(\d+))?\s*$/u.exec(typed);
  const name = parts && folded(parts[1]).replaceAll(/[\s.]+/g, "");
  if (!name) return null;
  const of = (book) => [book.id, book.label, book.name, ...(book.names ?? [])]
    .map((each) => folded(each).replaceAll(/[\s.]+/g, ""));
  let meant = books.filter((book) => of(book).includes(name));
  if (!meant.length && name.length > 2) {
    meant = books.filter((book) => of(book).some((each) => each.startsWith(name)));
  }
  if (!meant.length) return null;
  const stems = meant.map((book) => [book.id, parts[2], parts[3]].filter(Boolean).join("."));
  return (passage) => idsOf(passage).some((id) =>
    stems.some((stem) => id === stem || id.startsWith(`${stem}.`)));
}

// --- In words ---

const measuredAt = (least) => {
  const near = (report.measured ?? []).filter(([at]) => Math.abs(at - least) < 0.026);
  return near.sort((a, b) => Math.abs(a[0] - least) - Math.abs(b[0] - least))[0];
};

// How likely a match is, in words: of findings that are not calibrated only how strong they are.
function likelihood(match) {
  const probability = match?.probability;
  if (probability === undefined) return "";
  const step = [0.8, 0.6, 0.35].findIndex((least) => probability >= least);
  const words = report.measured?.length || !report.text
    ? ["very likely", "likely", "possible", "doubtful"] : ["strong", "fair", "weak", "very weak"];
  return words.at(step);
}

// 1 to 4: how dark a line is.
const darkness = (match) => {
  const probability = match?.probability ?? 1;
  return 1 + [0.35, 0.6, 0.8].filter((least) => probability >= least).length;
};

const printed = (text, words, number) => [...text].slice(words[number][0], words[number][1]).join("");

// Pairs of words that carry a match, strongest first: [printed here, printed there, share].
function carrying(finding, match) {
  const most = Math.max(...match.pairs.map((pair) => pair[2] ?? 1), 0);
  const seen = new Set();
  return match.pairs.flatMap(([, , added, left, right]) => {
    if (!left.length || !right.length || (added !== null && added < most / 12)) return [];
    const one = printed(finding.text, match.query, left[0]);
    const other = printed(passageOf(match).text, match.words, right[0]);
    const key = `${folded(one)} ${folded(other)}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return [[one, other]];
  });
}

const lower = (word) => word.toLowerCase();

// One sentence of why.
function why(finding, match) {
  const pairs = carrying(finding, match);
  const same = pairs.filter(([one, other]) => folded(one) === folded(other)).slice(0, 5);
  const taken = new Set(same.flatMap((pair) => pair.map(folded)));
  // Each word once, with the one that it is nearest to.
  const akin = pairs.filter((pair) => {
    const words = pair.map(folded);
    if (words[0] === words[1] || words.some((word) => taken.has(word))) return false;
    words.forEach((word) => taken.add(word));
    return true;
  }).slice(0, 4);
  const told = [];
  if (same.length) told.push(`the same words: ${same.map(([one]) => lower(one)).join(", ")}`);
  if (akin.length) told.push(akin.map(([one, other]) => `${lower(one)} ~ ${lower(other)}`).join(", "));
  if (!told.length) return "No single word carries it: the passage is near as a whole.";
  const sentence = told.join("; ");
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}.`;
}

// --- To copy ---

const uriOf = (passage) => idsOf(passage).map((id) => `bible:${id}`).join(" ");
const asXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const citations = {
  "cf.": ["as “cf. …”", (match) => `cf. ${passageOf(match).reference}`],
  tei: ["as TEI ‹ref›", (match) => {
    const passage = passageOf(match);
    return `<ref target="${asXml(uriOf(passage))}">${asXml(passage.reference)}</ref>`;
  }],
  bibtex: ["program, as BibTeX", () => {
    const [name, version] = (report.program || "allusion-es").split(" ");
    return `@software{${name},\n  title = {${name}},\n  version = {${version ?? ""}},\n  note = {Finds the Bible verses that a Latin text alludes to. ${report.method}}\n}`;
  }],
};
