// The overview of a report: books down, the text (or, if there are several, the works) across.

const MOST_CELLS = 60;
let works = [];
let byWork = false;
let columns = 0;
let columnOf = new Map(); // by the number of a finding
let ends = new Map(); // of a column: the names of its first and last finding
const column = (finding) => columnOf.get(finding.number);

// Which column each finding stands in: its work's; or, if the report says how long its one work
// is, that of a stretch of it; else there are equally many findings in each.
function arrange() {
  works = [...new Set(findings.map((finding) => finding.work ?? ""))];
  byWork = works.length > 1 && works.length <= MOST_CELLS;
  const ranked = [...findings].sort((a, b) =>
    works.indexOf(a.work ?? "") - works.indexOf(b.work ?? "") || a.place - b.place || a.number - b.number);
  columns = byWork ? works.length : byExtent() ? MOST_CELLS : Math.min(MOST_CELLS, findings.length);
  columnOf = new Map(ranked.map((finding, place) => [finding.number, columnFor(finding, place)]));
  ends = new Map();
  ranked.forEach((finding) => {
    const name = nameOf(finding);
    ends.set(column(finding), [ends.get(column(finding))?.[0] ?? name, name]);
  });
}

const byExtent = () => report.extent > 0 && works.length < 2;

function columnFor(finding, place) {
  if (byWork) return works.indexOf(finding.work ?? "");
  const [at, of] = byExtent() ? [finding.place, report.extent] : [place, findings.length];
  return Math.min(columns - 1, Math.floor(at * columns / of));
}

function columnName(number) {
  if (byWork) return works[number] || "without a title";
  const part = (n) => Math.round(100 * n / columns);
  const stretch = byExtent() ? `${part(number)}–${part(number + 1)} % of the text` : "";
  if (!ends.has(number)) return stretch;
  const [first, last] = ends.get(number);
  return [stretch, first === last ? first : `${first} to ${last}`].filter(Boolean).join(": ");
}

function edgeNames() {
  if (byWork) return [`${works.length} works`];
  return byExtent() ? ["start of the text", "end"] : [ends.get(0)[0], ends.get(columns - 1)[1]];
}

function drawMap() {
  const counts = new Map();
  for (const finding of findings) {
    const match = shown(finding);
    if (!match) continue;
    const book = passageOf(match).book;
    if (!counts.has(book)) counts.set(book, new Array(columns).fill(0));
    counts.get(book)[column(finding)] += 1;
  }
  const there = books.filter((book) => counts.has(book.id));
  if (!there.length) {
    at("map-frame").replaceChildren(make("p", { class: "quiet" }, "Nothing was found."));
    at("map-note").textContent = "";
    return;
  }
  const most = Math.max(...[...counts.values()].flat());
  const edges = edgeNames();
  at("map-frame").replaceChildren(make("table", { id: "map" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Book"),
      make("th", { scope: "col", class: "number" }, "Findings"),
      make("th", { scope: "col", class: "strip" }, make("span", { class: "ends" },
        edges.map((edge) => make("span", {}, edge)))))),
    make("tbody", {}, there.map((book) => mapRow(book, counts.get(book.id), most)))));
  at("map-note").textContent = `The stronger the colour, the more findings: at most ${most} in a cell. Choose a cell or a book to see only its findings.`;
}

function mapRow(book, counts, most) {
  const strip = document.createElementNS(SVG, "svg");
  strip.setAttribute("viewBox", `0 0 ${columns} 1`);
  strip.setAttribute("preserveAspectRatio", "none");
  strip.setAttribute("aria-hidden", "true");
  counts.forEach((count, number) => {
    if (!count) return;
    const cell = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: number + 0.04, y: 0, width: 0.92, height: 1 })) {
      cell.setAttribute(name, value);
    }
    cell.style.fillOpacity = 0.4 + 0.6 * count / most;
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${book.label}, ${columnName(number)}: ${count}`;
    cell.append(title);
    cell.addEventListener("click", () => choose(book.id, String(number)));
    strip.append(cell);
  });
  return make("tr", { "data-book": book.id },
    make("th", { scope: "row" }, make("button", {
      type: "button", title: book.name, onclick: () => choose(book.id, ""),
    }, book.label)),
    make("td", { class: "number" }, String(counts.reduce((sum, count) => sum + count, 0))),
    make("td", { class: "strip" }, strip));
}

function choose(book, place) {
  at("book").value = book;
  at("place").value = place;
  refresh();
  at("findings").scrollIntoView();
}

function showBook() {
  document.querySelectorAll("#map tbody tr").forEach((row) =>
    row.classList.toggle("on", at("book").value !== "" && row.dataset.book === at("book").value));
}
