// The search page: asks, and hands what comes to the report. Text only ever becomes text nodes.

const EXAMPLE = `Audistis, fratres, quid dicat propheta: Gustate et videte quoniam suavis est
Dominus. Quis enim nostrum non legit in principio creasse Deum caelum et terram? Sed dilectio illa
supereminet omni scientiae, et pax quae exsuperat omnem sensum custodiat corda nostra. Nos autem,
ut dixi, de his rebus postea plura dicemus, cum otium nobis dabitur.`.replaceAll("\n", " ");
const FORMATS = {
  html: "report (HTML)", tsv: "table (TSV)", json: "JSON lines", tei: "TEI with marks",
  annotations: "Web Annotations",
};
const bytes = crypto.getRandomValues(new Uint8Array(12));
const client = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

let methodRows = { first_stages: [], rerankers: [], scans: [] };
let hasCitations = false; // whether the index has citation vectors, which scans can use
let unmeasured = { scan: "", fast: "" }; // why measured figures do not hold for the index
let opened = null; // the file: { file, row }, `row` as the server told once it has read it
let job = ""; // the id of the search that goes on, or went on last
let going = null; // AbortController while one goes on

const kind = () => document.querySelector('input[name="kind"]:checked').value;

// --- Asking the server ---

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

// --- The form ---

function showKind() {
  document.querySelectorAll("[data-kind]").forEach((part) => {
    part.hidden = part.dataset.kind !== kind();
  });
  at("top").disabled = kind() !== "query"; // what is not shown must not hold up the form
  at("threshold").disabled = kind() !== "scan";
}

function describe() {
  const told = (rows, id) => rows.find((row) => row.name === at(id).value)?.description ?? "";
  const [stage, method] = [told(methodRows.first_stages, "first-stage"), told(methodRows.rerankers, "rerank")];
  at("described").textContent = `First stage: ${stage} Method: ${method}`;
}

// What was measured at the threshold that is chosen, or near it; or why nothing was.
function tellMeasured() {
  const name = at("fast").checked ? "fast" : hasCitations ? "default" : "words";
  const model = methodRows.scans.find((row) => row.name === name);
  if (!model) return;
  const wanted = at("threshold").value === "" ? model.threshold : Number(at("threshold").value);
  const distance = (point) => Math.abs(point.threshold - wanted);
  const [point] = [...model.measured].sort((a, b) => distance(a) - distance(b));
  at("threshold").placeholder = model.threshold;
  const why = (at("fast").checked ? unmeasured.fast : unmeasured.scan)
    || (chosenBooks().length || at("testament").value
      ? "not calibrated for a part of the collection, only for the whole" : "");
  const near = point && distance(point) < 0.0301; // points are 0.05 apart
  at("measured").textContent = why ? `Probabilities are ${why}: they only rank the findings.`
    : near ? `As measured at ${point.threshold}: ${Math.round(100 * point.precision)} of 100 findings are right, and ${Math.round(100 * point.recall)} of 100 references that editors gave are found. A lower probability finds more, and more that is wrong.`
    : `Nothing was measured at ${wanted}.`;
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
  tellMeasured();
}

async function loadIndexes() {
  const found = await (await ask("indexes")).json();
  const usable = found.indexes.filter((row) => !row.problem);
  fill(at("index"), usable.map((row) => [row.name, `${row.name} (${plural(row.passages, "passage")})`]),
    found.default);
  const tell = () => {
    const row = usable.find((each) => each.name === at("index").value);
    at("where").textContent = row?.where === "in process"
      ? "Nothing that you paste leaves this computer." : `Searches are sent to ${row?.where}.`;
  };
  at("index").addEventListener("change", () => { tell(); loadBooks().catch(said); });
  tell();
  await loadBooks();
}

async function loadBooks() {
  const name = at("index").value;
  const details = await (await ask(`indexes/${encodeURIComponent(name)}`)).json();
  if (name !== at("index").value) return; // another was chosen meanwhile
  hasCitations = details.citations !== "";
  unmeasured = details.unmeasured;
  at("books-part").hidden = !details.books.length;
  at("testament-part").hidden = details.testaments.length < 2;
  at("testament").value = "";
  at("books").replaceChildren(at("books").firstElementChild, ...details.books.map((book) =>
    make("label", { title: book.name }, make("input", { type: "checkbox", value: book.id }),
      book.label)));
  tellBooks();
  tellMeasured();
}

const chosenBooks = () => [...document.querySelectorAll("#books input:checked")].map((box) => box.value);

function tellBooks() {
  const number = chosenBooks().length;
  at("chosen-books").textContent = number ? `(${plural(number, "book")} chosen)` : "";
}

const said = (error) => trouble(error.message);

// --- The text ---

async function openFile(event) {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  trouble("");
  at("file-name").textContent = `Reading ${file.name}…`;
  try {
    const path = `texts?name=${encodeURIComponent(file.name)}`;
    const row = await (await ask(path, { method: "POST", body: file })).json();
    opened = row;
    const title = [row.author, row.title].filter(Boolean).join(", ");
    const what = { tei: "TEI", html: "HTML", docx: "DOCX" }[row.kind] ?? "text";
    at("file-name").textContent = `${row.name}: ${what}${title && row.kind !== "text" ? `, ${title}` : ""}, ${plural(row.words, "word")}`;
  } catch (error) {
    opened = null;
    at("file-name").textContent = "";
    said(error);
  }
  showFile();
}

function showFile() {
  at("no-file").hidden = !opened;
  at("text").disabled = Boolean(opened);
  if (!opened) at("file-name").textContent = "";
}

function closeFile() {
  opened = null;
  showFile();
  at("text").focus();
}

function asked() {
  const within = { books: chosenBooks(), testaments: at("testament").value ? [at("testament").value] : [] };
  const text = opened ? { text_id: opened.text_id } : { text: at("text").value };
  const record = { ...text, ...within, index: at("index").value, view: "report" };
  if (kind() === "scan") {
    const threshold = at("threshold").value;
    return { ...record, threshold: threshold === "" ? null : Number(threshold), fast: at("fast").checked };
  }
  return {
    ...record, first_stage: at("first-stage").value, field: at("field").value,
    rerank: at("rerank").value, top: Number(at("top").value),
  };
}

// --- A search ---

async function search(event) {
  event.preventDefault();
  if (going) return;
  trouble("");
  if (!opened && !at("text").value.trim()) {
    trouble("There is no text yet: paste some Latin words, or open a file.");
    at("text").focus();
    return;
  }
  going = new AbortController();
  showGoing(true);
  try {
    const response = await send(kind(), asked(), going.signal);
    job = response.headers.get("Allusion-Job");
    await read(response.body);
  } catch (error) {
    if (error.name !== "AbortError") said(error);
    if (!at("result").hidden) at("told").textContent = "";
  }
  going = null;
  showGoing(false);
}

function showGoing(on) {
  at("go").disabled = on;
  at("going").hidden = !on;
  at("stop").disabled = false;
  at("progress").removeAttribute("value"); // until something is known
  at("so-far").textContent = on ? "Searching…" : "";
  if (on) {
    at("told").textContent = "";
    at("result").hidden = false;
    at("downloads").replaceChildren();
    begin({ title: "Searching…", method: "", notes: [], extent: 0, id: "" });
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
    begin(line.report);
    showDownloads(line.job, line.formats);
  } else if (line.findings) {
    take(line);
  } else if (line.status) {
    finish(line);
    return true;
  } else {
    at("progress").value = line.progress;
    at("so-far").textContent = `${Math.floor(100 * line.progress)} % searched`;
  }
  return false;
}

function finish(line) {
  showNotes(line.notes);
  const isQuery = line.kind === "query" && line.found === 1;
  const number = isQuery ? plural(findings[0].matches.length, "passage") : plural(line.found, "finding");
  if (line.status === "failed") trouble(line.error);
  at("told").textContent = {
    done: isQuery ? `Done: ${number}, the best first.` : line.found ? `Done: ${number}.` : nothing(),
    stopped: `Stopped: ${number} up to there.`,
    failed: `The search broke off: ${number} up to there.`,
  }[line.status];
}

function nothing() {
  return kind() === "scan"
    ? "Nothing was found. A lower probability, under “Choose how”, shows what is less likely; for a single phrase, ask the second question."
    : "Nothing was found.";
}

function showDownloads(id, formats) {
  at("downloads").replaceChildren("Save as", ...formats.map((format) => make("a", {
    href: `api/jobs/${id}/report?format=${format}`, download: true, "data-format": format,
  }, FORMATS[format])));
}

async function stop() {
  at("stop").disabled = true;
  try { await send(`jobs/${job}/stop`, {}); } catch (error) { said(error); }
}

// --- Start ---

function startPage() {
  at("ask").addEventListener("submit", search);
  at("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("ask").requestSubmit();
  });
  at("ask").addEventListener("change", (event) => {
    if (event.target.name === "kind") showKind();
    if (event.target.closest("#books")) tellBooks();
    if (event.target.closest("#books, #testament")) tellMeasured();
    if (["first-stage", "rerank"].includes(event.target.id)) describe();
  });
  for (const id of ["threshold", "fast"]) at(id).addEventListener("input", tellMeasured);
  at("file").addEventListener("change", openFile);
  at("no-file").addEventListener("click", closeFile);
  at("example").addEventListener("click", () => {
    if (opened) closeFile();
    at("text").value = EXAMPLE;
    at("text").focus();
  });
  at("stop").addEventListener("click", stop);
  showKind();
  loadIndexes().catch(said);
  loadMethods().catch(said);
}

startPage();
