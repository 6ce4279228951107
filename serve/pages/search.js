// The search page: asks, and hands what comes to the report. Text only ever becomes text nodes.

const EXAMPLES = {
  phrase: "sed dilectio illa supereminet omni scientiae",
  passage: `Audistis, fratres, quid dicat propheta: Gustate et videte quoniam suavis est Dominus. Quis
enim nostrum non legit in principio creasse Deum caelum et terram? Sed dilectio illa supereminet omni
scientiae, et pax quae exsuperat omnem sensum custodiat corda nostra. Retia sua relinquentes secuti sunt
piscatores; nos autem vix quicquam relinquimus. Rusticus agrum colit et nihil de imbre timet, quia
tribulatio patientiam operatur, patientia autem probationem, probatio vero spem.`.replaceAll("\n", " "),
  letter: `Litteras tuas accepi, frater carissime, et gavisus sum valde. Scis enim quia bonum certamen
certare nobis propositum est et cursum consummare. Qui perseveraverit usque in finem, hic salvus erit.
Noli ergo timere, quia Dominus regit nos et nihil nobis deerit. Sarcinas misi per nuntium; vale, et
fratres qui tecum sunt saluta in osculo sancto.`.replaceAll("\n", " "),
};
const PHRASE_WORDS = 25; // up to this length a text is taken for a phrase
const EVERYTHING = 0.1; // a text is searched down to this probability; the page filters
const FORMATS = {
  html: "page (HTML)", tei: "TEI", tsv: "table (TSV)", csv: "table (CSV)", json: "JSON lines",
  annotations: "Web Annotations",
};
const bytes = crypto.getRandomValues(new Uint8Array(12));
const client = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

let methodRows = { first_stages: [], rerankers: [], scans: [] };
let openFileRow = null; // the file, as the program told once it has read it
let job = ""; // the id of the search that goes on, or went on last
let going = null; // AbortController while one goes on
let lastAsked = null; // { kind, record } of the last search, for asking in the other way
let isChosen = false; // whether the reader has chosen how the text is read

const kind = () => document.querySelector('input[name="kind"]:checked').value;

// --- Asking the program ---

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(`api/${path}`, {
      ...options, headers: { "Allusion-Client": client, ...options.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The program does not answer. Is it still running in its terminal?");
  }
  if (response.ok) return response;
  let told = "";
  try { told = (await response.json()).error; } catch { /* no JSON: said below */ }
  throw new Error(told || `The program answered ${response.status}.`);
}

const send = (path, record, signal) => ask(path, {
  method: "POST", signal, body: JSON.stringify(record),
  headers: { "Content-Type": "application/json" },
});

function trouble(text) {
  at("trouble").textContent = text;
  at("trouble").hidden = !text;
}

const said = (error) => { if (error.name !== "AbortError") trouble(error.message); };

// --- Judgements: the program keeps them ---

let saving = Promise.resolve(); // one after the other, so that the last one holds

keeper = {
  load: () => [], // they come with the findings
  save(changed) {
    for (const key of new Set(changed.map((each) => each.key))) {
      const of = changed.filter((each) => each.key === key)
        .map(({ start, end, passage, decision, comment }) => ({ start, end, passage, decision, comment }));
      saving = saving.then(() => send(`judgements/${key}`, { judgements: of })).catch((error) =>
        complain(`Not saved: ${error.message}`));
    }
  },
};

// What was judged meanwhile in another tab.
async function loadJudged() {
  const keys = new Set([report.key, ...findings.map((finding) => finding.key)].filter(Boolean));
  if (keys.size !== 1 || document.hidden) return;
  try {
    await saving;
    const [key] = keys;
    const found = (await (await ask(`judgements/${key}`)).json()).judgements;
    const now = JSON.stringify(found);
    const before = JSON.stringify([...judgements.values()].sort((a, b) => a.start - b.start || a.end - b.end || (a.passage < b.passage ? -1 : 1)));
    if (now === before) return;
    judgements = new Map();
    putJudgements(found);
    judged();
  } catch { /* the next one says so */ }
}

// --- The form ---

const wordsOf = (text) => text.split(/\s+/).filter(Boolean).length;

function showKind() {
  const words = openFileRow ? openFileRow.words : wordsOf(at("text").value);
  if (!isChosen) {
    // A file is a text, however short: its sections and tags are for reading it as one.
    const short = !openFileRow && words > 0 && words <= PHRASE_WORDS;
    document.querySelector(`input[name="kind"][value="${short ? "query" : "scan"}"]`).checked = true;
  }
  at("why-kind").textContent = words ? `${plural(words, "word")}.` : "";
  if (words > PHRASE_WORDS && kind() === "query") at("why-kind").textContent += " As one phrase it gets one answer, and may take long.";
  document.querySelectorAll("[data-kind]").forEach((part) => { part.hidden = part.dataset.kind !== kind(); });
  at("top").disabled = kind() !== "query"; // what is not shown must not hold up the form
}

function describe() {
  const told = (rows, id) => rows.find((row) => row.name === at(id).value)?.description ?? "";
  const [stage, method] = [told(methodRows.first_stages, "first-stage"), told(methodRows.rerankers, "rerank")];
  at("described").textContent = `Candidates: ${stage} Ranked: ${method}`;
}

async function loadMethods() {
  methodRows = await (await ask("methods")).json();
  const named = (rows) => rows.filter((row) => !row.parts).map((row) => [row.name, row.name]);
  const { first_stage: firstStage, rerank, field, top } = methodRows.defaults;
  fill(at("first-stage"), named(methodRows.first_stages), firstStage);
  fill(at("rerank"), named(methodRows.rerankers), rerank);
  at("field").value = field;
  at("top").value = top;
  describe();
}

async function loadIndexes() {
  const found = await (await ask("indexes")).json();
  const usable = found.indexes.filter((row) => !row.problem);
  fill(at("index"), usable.map((row) => [row.name, `${row.name} (${plural(row.passages, "passage")})`]),
    found.default);
  const tell = () => {
    const row = usable.find((each) => each.name === at("index").value);
    at("where").textContent = row?.where === "in process"
      ? "Nothing leaves this computer." : `Searches are sent to ${row?.where}.`;
  };
  at("index").addEventListener("change", () => { tell(); loadPlaces().catch(said); });
  tell();
  await loadPlaces();
}

async function loadPlaces() {
  const name = at("index").value;
  const details = await (await ask(`indexes/${encodeURIComponent(name)}`)).json();
  if (name !== at("index").value) return; // another was chosen meanwhile
  at("testament-part").hidden = details.testaments.length < 2;
  at("testament").value = "";
  const works = details.works.map((work) => [work.title, [work.author, work.title].filter(Boolean).join(", ")]);
  offer("books", details.books.map((book) => [book.id, book.label, book.name]), 1);
  // Of one work, or author, there is nothing to choose.
  offer("authors", details.authors.map((author) => [author, author]), 2);
  offer("works", works, 2);
}

// Boxes for books, authors or works; hidden where there are fewer than `least`.
function offer(what, rows, least) {
  at(`${what}-part`).hidden = rows.length < least;
  at(what).replaceChildren(at(what).firstElementChild, ...rows.map(([value, label, title]) =>
    make("label", { title: title ?? "" }, make("input", { type: "checkbox", value }), label)));
  tellChosen(what);
}

const chosen = (what) => [...document.querySelectorAll(`#${what} input:checked`)].map((box) => box.value);

function tellChosen(what) {
  const number = chosen(what).length;
  at(`chosen-${what}`).textContent = number ? `(${plural(number, what.slice(0, -1))} chosen)` : "";
}

// --- The text ---

async function openFile(file) {
  if (!file) return;
  trouble("");
  at("doubtful").hidden = true;
  at("file-name").textContent = `Reading ${file.name}…`;
  at("text").hidden = true;
  at("file-row").hidden = false;
  try {
    const path = `texts?name=${encodeURIComponent(file.name)}`;
    const row = await (await ask(path, { method: "POST", body: file })).json();
    openFileRow = row;
    at("text").value = ""; // what stood there is another text
    const title = [row.author, row.title].filter(Boolean).join(", ");
    const what = { tei: "TEI", html: "HTML", docx: "DOCX" }[row.kind] ?? "text";
    at("file-name").textContent = `${row.name}: ${what}${title && row.kind !== "text" ? `, ${title}` : ""}, ${plural(row.words, "word")}`;
  } catch (error) {
    openFileRow = null;
    said(error);
  }
  isChosen = false;
  showFile();
}

function showFile() {
  at("file-row").hidden = !openFileRow;
  at("text").hidden = Boolean(openFileRow);
  if (!openFileRow) at("file-name").textContent = "";
  showKind();
}

function closeFile() {
  openFileRow = null;
  showFile();
  at("text").focus();
}

function choicesOf(what) {
  const within = {
    books: chosen("books"), authors: chosen("authors"), works: [...new Set(chosen("works"))],
    testaments: at("testament").value ? [at("testament").value] : [],
  };
  const record = { ...within, index: at("index").value, view: "report" };
  if (what === "scan") return { ...record, threshold: EVERYTHING, fast: at("fast").checked };
  return {
    ...record, first_stage: at("first-stage").value, field: at("field").value,
    rerank: at("rerank").value, top: Number(at("top").value),
  };
}

// --- A search ---

async function submit(event) {
  event.preventDefault();
  if (going) return;
  trouble("");
  at("doubtful").hidden = true;
  if (!openFileRow && !at("text").value.trim()) {
    trouble("There is no text yet: paste some Latin words, or open a file.");
    at("text").focus();
    return;
  }
  const text = openFileRow ? { text_id: openFileRow.text_id } : { text: at("text").value };
  at("go").disabled = true;
  try {
    const told = await (await send("check", { ...text, index: at("index").value })).json();
    if (told.doubt) {
      at("doubtful").firstElementChild.textContent = `This hardly looks like Latin: ${told.doubt} `;
      at("doubtful").hidden = false;
      at("anyway").focus();
      at("anyway").onclick = () => { at("doubtful").hidden = true; search(kind(), text); };
      return;
    }
    await search(kind(), text);
  } catch (error) {
    said(error);
  } finally {
    at("go").disabled = false;
  }
}

const search = (what, text) => {
  lastAsked = { kind: what, text };
  return follow((signal) => send(what, { ...choicesOf(what), ...text }, signal));
};

// The answer of a search, from its beginning to its end.
async function follow(ask_) {
  going = new AbortController();
  showGoing(true);
  try {
    const response = await ask_(going.signal);
    job = response.headers.get("Allusion-Job");
    await read(response.body);
  } catch (error) {
    said(error);
    if (!findings.length) showState("asking");
  }
  going = null;
  showGoing(false);
}

function showState(state) {
  document.body.dataset.state = state;
  at("result").hidden = state === "asking";
  if (state === "asking") {
    select(null);
    history.replaceState(null, "", location.pathname);
    loadHistory().catch(said);
    document.title = "Allusions to the Bible";
  }
}

function showGoing(on) {
  at("stop").hidden = !on;
  at("stop").disabled = false;
  at("progress").hidden = !on;
  at("progress").removeAttribute("value"); // until something is known
  at("so-far").textContent = on ? "Searching…" : "";
  if (on) {
    at("told").textContent = "";
    at("other-kind").hidden = true;
    beginReport({ title: "Searching…", method: "", notes: [], extent: 0, program: "" });
    showState("reading");
    scrollTo(0, 0);
    at("result").focus({ preventScroll: true });
  }
  // The number of findings is not read out each time that it grows.
  at("count").setAttribute("aria-live", on ? "off" : "polite");
}

async function read(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let ended = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) ended = receive(JSON.parse(line)) || ended;
  }
  if (!ended) throw new Error("The program stopped before the search was done; what it found is below.");
}

// One line of a search; whether it was the last.
function receive(line) {
  if (line.report) {
    beginReport(line.report);
    at("about").textContent = report.text ? plural(wordsOf(report.text), "word") : "";
    document.title = line.report.title;
    if (line.history) history.replaceState(null, "", `#${line.history}`);
    drawDownloads(line.job, line.formats);
  } else if (line.findings) {
    takeReport(line);
    const keys = new Set(line.findings.map((finding) => finding.key).filter(Boolean));
    if (!report.key && keys.size === 1) loadJudged();
  } else if (line.status) {
    finish(line);
    return true;
  } else {
    at("progress").value = line.progress;
    at("so-far").textContent = `${Math.floor(100 * line.progress)} % read`;
  }
  return false;
}

function finish(line) {
  showNotes([report.method, ...line.notes].filter(Boolean));
  const isQuery = line.kind === "query";
  if (line.status === "failed") trouble(line.error);
  at("told").textContent = {
    done: line.found ? "" : nothing(line.kind),
    stopped: "Stopped; what was found up to there is below.",
    failed: "The search broke off; what was found up to there is below.",
  }[line.status];
  const other = isQuery ? "scan" : "query";
  // What came from the history can be asked again by its words.
  lastAsked ??= { kind: line.kind, text: { text: report.text ?? findings[0]?.text ?? "" } };
  at("other-kind").hidden = !lastAsked.text.text_id && !lastAsked.text.text;
  at("other-kind").textContent = other === "scan" ? "Read it as a text instead" : "Ask it as one phrase instead";
  at("other-kind").onclick = () => { if (!going) search(other, lastAsked.text).catch(said); };
}

const nothing = (what) => (what === "scan"
  ? "Nothing was found. If it is a single phrase, ask it as one." : "Nothing was found.");

// What is saved: of the judged findings all, or those that were accepted.
function drawDownloads(id, formats) {
  const link = (format, what) => make("a", {
    href: "#", "data-format": format, "data-what": what,
    onclick: (event) => {
      event.preventDefault();
      const least = hasProbability() ? `&least=${atLeast()}` : "";
      const path = `api/jobs/${id}/report?format=${format}&what=${what}${least}`;
      saving.then(() => make("a", { href: path, download: true }).click());
    },
  }, what === "accepted" ? "accepted only" : "all, with judgement");
  drawSaving();
  at("save").prepend(make("table", { class: "formats" }, make("tbody", {}, formats.map((format) =>
    make("tr", {}, make("th", { scope: "row" }, FORMATS[format]),
      make("td", {}, link(format, "accepted")), make("td", {}, link(format, "all")))))));
}

async function stop() {
  at("stop").disabled = true;
  try { await send(`jobs/${job}/stop`, {}); } catch (error) { said(error); }
}

// --- History ---

async function loadHistory() { showHistory((await (await ask("history")).json()).entries); }

function showHistory(entries) {
  at("history").hidden = !entries.length;
  at("entries").replaceChildren(...entries.map((entry) => make("li", {},
    make("a", { href: `#${entry.id}`, lang: "la" }, entry.title),
    make("span", { class: "quiet" }, [
      entry.kind === "scan" ? plural(entry.words, "word") : "phrase",
      entry.kind === "scan" ? plural(entry.found, "finding") : plural(entry.found, "verse"),
      entry.status === "done" ? "" : entry.status, entry.when.slice(0, 10),
    ].filter(Boolean).join(" · ")),
    make("button", {
      type: "button", class: "plain", "aria-label": `Delete ${entry.title}`,
      onclick: () => forget(`history/${entry.id}`, `Delete this ${entry.kind === "scan" ? "text" : "phrase"}, what was found in it, and your judgements?`),
    }, "Delete"))));
}

async function forget(path, question) {
  if (!confirm(question)) return;
  remember([]); // what can be undone names what was judged
  try { showHistory((await (await ask(path, { method: "DELETE" })).json()).entries); } catch (error) { said(error); }
}

// The search that the address names, or the empty page.
function openAddress() {
  const identifier = location.hash.slice(1);
  if (!/^[0-9a-f]{16}$/.test(identifier)) {
    if (!going) showState("asking");
    return;
  }
  going?.abort();
  trouble("");
  lastAsked = null;
  follow((signal) => ask(`history/${identifier}`, { signal })).catch(said);
}

// --- Start ---

function startPage() {
  at("ask").addEventListener("submit", submit);
  at("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("ask").requestSubmit();
  });
  at("text").addEventListener("input", showKind);
  at("ask").addEventListener("change", (event) => {
    if (event.target.name === "kind") { isChosen = true; showKind(); }
    const names = event.target.closest(".names");
    if (names) tellChosen(names.id);
    if (["first-stage", "rerank"].includes(event.target.id)) describe();
  });
  at("file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    openFile(file);
  });
  const over = (on) => (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    at("box").classList.toggle("over", on);
  };
  at("ask").addEventListener("dragover", over(true));
  at("ask").addEventListener("dragleave", over(false));
  at("ask").addEventListener("drop", (event) => { over(false)(event); openFile(event.dataTransfer.files[0]); });
  at("no-file").addEventListener("click", closeFile);
  document.querySelectorAll("[data-example]").forEach((button) => button.addEventListener("click", () => {
    if (openFileRow) closeFile();
    at("text").value = EXAMPLES[button.dataset.example];
    isChosen = false;
    showKind();
    at("ask").requestSubmit();
  }));
  at("stop").addEventListener("click", stop);
  at("again").addEventListener("click", () => {
    going?.abort();
    showState("asking");
    (openFileRow ? at("no-file") : at("text")).focus();
  });
  at("forget-all").addEventListener("click", () =>
    forget("history", "Delete all texts, what was found in them, and your judgements?"));
  addEventListener("hashchange", openAddress);
  addEventListener("focus", loadJudged);
  document.addEventListener("visibilitychange", loadJudged);
  showKind();
  loadIndexes().catch(said);
  loadMethods().catch(said);
  openAddress();
}

startPage();
