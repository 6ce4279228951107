// Judgements: what a reader accepted, rejected or remarked. They belong to a text, a stretch of it and
// a passage, never to the choices of a search. `keeper` keeps them: this browser, or the program.

let judgements = new Map(); // by key, start, end and passage

// What can be undone outlives a reload: the tab keeps it, of all texts that were judged in it.
const UNDONE = "allusion-es undone";
const MOST_UNDONE = 200;
let undone = recall(); // what to bring back: lists of judgements as they were, the latest last

function recall() {
  try { return JSON.parse(sessionStorage.getItem(UNDONE)) ?? []; } catch { return []; }
}

function remember(list) {
  undone = list.slice(-MOST_UNDONE);
  try { sessionStorage.setItem(UNDONE, JSON.stringify(undone)); } catch { /* Then until a reload. */ }
}

// The place in `undone` of the latest that is of what is shown, or -1.
function latestUndone() {
  const own = new Set([report.key ?? dataId, ...findings.map((finding) => finding.key)].filter(Boolean));
  return undone.findLastIndex(([first]) => own.has(first.key));
}

const judgementPlace = (each) => `${each.key} ${each.start} ${each.end} ${each.passage}`;

function judgementKey(finding, match) {
  const start = finding.key ? 0 : finding.place; // a query is a text of its own
  return {
    key: finding.key ?? report.key ?? dataId, start, end: start + finding.length,
    passage: passageOf(match).id,
  };
}

const judgementOf = (finding, match) =>
  (judgements.size ? judgements.get(judgementPlace(judgementKey(finding, match))) : undefined);

const decisionOf = (finding) => {
  if (!judgements.size) return "";
  const all = finding.matches.map((match) => judgementOf(finding, match)?.decision);
  return ["accept", "reject"].find((word) => all.includes(word)) ?? "";
};

// In a saved page: this browser's storage, for all saved pages with the same text.
let keeper = {
  load(keys) {
    return keys.flatMap((key) => {
      try { return JSON.parse(kept.get(`allusion-es judgements ${key}`) ?? "[]"); } catch { return []; }
    });
  },
  // What was taken back is kept too: the page itself may hold what was judged before it was saved.
  save(changed) {
    for (const key of new Set(changed.map((each) => each.key))) {
      const of = [...this.load([key]), ...changed.filter((each) => each.key === key)];
      const latest = new Map(of.map((each) => [judgementPlace(each), each]));
      kept.set(`allusion-es judgements ${key}`, JSON.stringify([...latest.values()]));
    }
    if (!kept.works) complain("This browser keeps nothing: save your judgements to a file before you close the page.");
  },
};

function putJudgements(list) {
  for (const each of list) {
    if (each.decision || each.comment) judgements.set(judgementPlace(each), each);
    else judgements.delete(judgementPlace(each));
  }
}

// `redraw`: not for a comment, or what is clicked after typing it would be gone before the click.
function change(list, redraw = true) {
  remember([...undone, list.map((each) => judgements.get(judgementPlace(each))
    ?? { ...each, decision: "", comment: "" })]);
  putJudgements(list);
  keeper.save(list);
  if (redraw) judged(); else tell();
}

function judge(finding, match, what, redraw = true) {
  const place = judgementKey(finding, match);
  const before = judgements.get(judgementPlace(place)) ?? { decision: "", comment: "" };
  change([{ ...place, decision: before.decision, comment: before.comment, ...what }], redraw);
}

// Accept or reject; once more takes it back.
function decide(finding, match, decision) {
  const same = judgementOf(finding, match)?.decision === decision;
  judge(finding, match, { decision: same ? "" : decision });
}

function undo() {
  const place = latestUndone();
  if (place < 0) return;
  const before = undone[place];
  remember(undone.toSpliced(place, 1));
  putJudgements(before);
  keeper.save(before);
  judged();
}

// --- To files ---

const listJudgements = () => findings.flatMap((finding) => finding.matches.flatMap((match) => {
  const found = judgementOf(finding, match);
  return found ? [{ query_id: finding.id, ...found }] : [];
}));

function saveJudgements() {
  const text = JSON.stringify({ title: report.title, judgements: listJudgements() }, null, 1);
  download("judgements.json", "application/json", `${text}\n`);
}

async function loadJudgements(event) {
  const [file] = event.target.files;
  if (!file) return;
  let read = null;
  try {
    const text = JSON.parse(await file.text());
    if (Array.isArray(text.judgements)) read = text.judgements.map(({ key, start, end, passage, decision, comment }) => ({
      key: String(key), start: Number(start), end: Number(end), passage: String(passage),
      decision: ["accept", "reject"].includes(decision) ? decision : "", comment: String(comment ?? ""),
    }));
  } catch {
    // Said below.
  }
  event.target.value = "";
  if (!read) return complain(`${file.name} is no file of judgements; choose one that was saved here.`);
  const known = new Set(findings.flatMap((finding) =>
    finding.matches.map((match) => judgementPlace(judgementKey(finding, match)))));
  const own = read.filter((each) => known.has(judgementPlace(each)));
  complain(own.length < read.length
    ? `${plural(read.length - own.length, "judgement")} of other places were left out.` : "");
  if (own.length) change(own);
}

// As `allusion-es gold` reads them: a line for each finding of which a passage was accepted.
function goldLines() {
  return findings.flatMap((finding) => {
    const accepted = finding.matches.filter((match) => judgementOf(finding, match)?.decision === "accept");
    if (!accepted.length) return [];
    const line = {
      query_id: finding.id, text: finding.text, before: finding.before, after: finding.after,
      relevant: [...new Set(accepted.flatMap((match) => idsOf(passageOf(match))))], type: accepted[0].kind,
      title: finding.work,
    };
    return [`${JSON.stringify(line)}\n`];
  }).join("");
}
