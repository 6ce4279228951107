// The map: books down, in their order and by testament; the text, or the works, across.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000; // units across

function svg(name, properties) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  return made;
}

const map = {
  start() {
    at("map").addEventListener("click", (event) => {
      const strip = event.target.closest("svg[data-book]");
      if (!strip) return;
      const box = strip.getBoundingClientRect();
      const x = WIDTH * (event.clientX - box.left) / box.width;
      const of = visible.filter((finding) => shown(finding) && passageOf(shown(finding)).book === strip.dataset.book);
      const near = of.sort((a, b) => Math.abs(this.x(a) - x) - Math.abs(this.x(b) - x))[0];
      if (near) this.open(near);
    });
  },

  open(finding) {
    if (hasText()) return select(finding);
    setView("listing");
    listing.reveal(finding);
  },

  // Works side by side, if there are several; else the text from its beginning to its end.
  x(finding) {
    if (this.works.length > 1) {
      const number = this.works.indexOf(finding.work ?? "");
      const [place, of] = this.inWork.get(finding);
      return WIDTH * (number + (place + 0.5) / of) / this.works.length;
    }
    return report.extent ? WIDTH * finding.place / report.extent
      : WIDTH * (finding.number + 0.5) / findings.length;
  },

  arrange() {
    this.works = [...new Set(findings.map((finding) => finding.work ?? ""))];
    const counts = new Map();
    this.inWork = new Map(findings.map((finding) => {
      const work = finding.work ?? "";
      counts.set(work, (counts.get(work) ?? 0) + 1);
      return [finding, [counts.get(work) - 1, 0]];
    }));
    for (const [finding, place] of this.inWork) place[1] = counts.get(finding.work ?? "");
  },

  draw() {
    this.arrange();
    const of = new Map();
    this.of = of; // visible findings by book
    for (const finding of visible) {
      const book = shown(finding) && passageOf(shown(finding)).book;
      if (book === undefined || isRejected(finding)) continue;
      if (of.has(book)) of.get(book).push(finding); else of.set(book, [finding]);
    }
    const there = books.filter((book) => of.has(book.id));
    const parts = [["ot", "Old Testament"], ["nt", "New Testament"], [undefined, "Other works"]]
      .map(([testament, name]) => [name, there.filter((book) => book.testament === testament)])
      .filter(([, list]) => list.length);
    at("map").replaceChildren(
      parts.length ? this.scale() : make("p", { class: "quiet" }, "There is nothing to show."),
      ...parts.map(([name, list]) => make("section", {},
        parts.length > 1 || name !== "Other works" ? make("h3", {}, name,
          make("span", { class: "quiet" }, ` ${list.reduce((sum, book) => sum + of.get(book.id).length, 0)}`)) : "",
        list.map((book) => this.row(book, of.get(book.id))))));
  },

  scale() {
    const strip = svg("svg", { viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const sections = this.works.length > 1 ? this.works.map((_, n) => WIDTH * n / this.works.length)
      : (report.sections ?? []).map(([place]) => WIDTH * place / report.extent);
    strip.append(svg("path", { class: "ticks", d: sections.map((x) => `M${x.toFixed(1)} 0V10`).join("") || "M0 0" }));
    const names = this.works.length > 1 ? [`${this.works.length} works`, ""] : ["beginning", "end"];
    return make("div", { class: "book scale" }, make("span", {}), make("span", {}),
      make("div", {}, make("div", { class: "ends" }, names.map((name) => make("span", {}, name))), strip));
  },

  row(book, found) {
    const strip = svg("svg", {
      viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", role: "img", "data-book": book.id,
      "aria-label": `${book.name}: ${plural(found.length, "place")}`,
    });
    for (const step of [1, 2, 3, 4]) {
      const of = found.filter((finding) => darkness(shown(finding)) === step);
      if (of.length) strip.append(svg("path", { class: `dark${step}`, d: of.map((f) => `M${this.x(f).toFixed(1)} 0V10`).join("") }));
    }
    if (selected && found.includes(selected)) {
      strip.append(svg("path", { class: "on", d: `M${this.x(selected).toFixed(1)} 0V10` }));
    }
    return make("div", { class: `book${choices.book === book.id ? " on" : ""}`, "data-book": book.id },
      make("button", {
        type: "button", class: "plain", title: book.name, "aria-pressed": String(choices.book === book.id),
        onclick: () => { choices.book = choices.book === book.id ? "" : book.id; at("book").value = choices.book; refresh(); },
      }, book.label),
      make("span", { class: "number" }, String(found.length)), strip);
  },

  // Draws again the rows of some findings; all of them if one has gone to another row.
  change(...changed) {
    const rows = new Set();
    for (const finding of changed.filter(Boolean)) {
      const book = shown(finding) && passageOf(shown(finding)).book;
      if (Boolean(this.of.get(book)?.includes(finding)) === isRejected(finding)) return this.draw();
      if (this.of.has(book)) rows.add(book);
    }
    for (const book of rows) {
      at("map").querySelector(`.book[data-book="${CSS.escape(book)}"]`)
        .replaceWith(this.row(books.find((each) => each.id === book), this.of.get(book)));
    }
  },
  reveal() {},
};
