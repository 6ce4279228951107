// The page of an evaluation: its figures, and a list of gold links with what every method made of
// each.

const { methods, counts, links, texts, good } = data;

links.forEach((link, number) => {
  link.number = number;
  // What a method made of the link: [method, rank, rank in the first stage, loss, first hit,
  // whether that is a parallel, rank with parallels].
  link.found = link.found.map(([method, rank, stage, loss, top, parallel, lenient]) =>
    ({ method, rank, stage, loss, top, parallel, lenient }));
  link.words = folded([link.query_id, link.text, link.relevant, ...texts[link.relevant]].join(" "));
});

const reference = (id) => texts[id][0];
const words = (id) => texts[id][1];
const chosenMethod = () => at("method").value;
const outcomes = (link) => link.found.filter((found) =>
  chosenMethod() === "" || found.method === Number(chosenMethod()));
const worst = (link) => Math.max(...outcomes(link).map((found) => found.rank ?? Infinity));

const losses = {
  "": ["all links", () => true],
  any: [`not among the first ${good}`, (found) => found.loss !== ""],
  "first stage": ["in the first stage", (found) => found.loss === "first stage"],
  reranking: ["by reranking", (found) => found.loss === "reranking"],
  parallel: ["first hit is a parallel", (found) => found.parallel],
};
const overlaps = {
  "": ["any number", () => true],
  none: ["none", (link) => link.shared_lemmas === 0],
  one: ["one", (link) => link.shared_lemmas === 1],
  more: ["two or more", (link) => link.shared_lemmas > 1],
};
const orders = {
  place: ["order of the file", () => 0],
  worst: ["rank, worst first", (a, b) => (worst(a) === worst(b) ? 0 : worst(b) > worst(a) ? 1 : -1)],
  shared: ["shared lemmas", (a, b) => a.shared_lemmas - b.shared_lemmas],
};

function entry(link) {
  const name = `entry-${link.number}`;
  const verse = (id, title) => make("div", { class: "side" }, make("h4", {}, title),
    make("p", { class: "text", lang: "la", dir: "auto" }, words(id)));
  return make("article", { tabindex: -1, "aria-labelledby": name, "data-id": link.query_id },
    make("header", {},
      make("h3", { id: name }, `${link.query_id} → ${reference(link.relevant)}`),
      link.type ? make("span", { class: "tag" }, link.type) : undefined,
      make("span", { class: "quiet" },
        `shares ${plural(link.shared_tokens, "token")}, ${plural(link.shared_lemmas, "lemma")}`)),
    make("div", { class: "sides" },
      make("div", { class: "side" }, make("h4", {}, "Query"),
        make("p", { class: "text", lang: "la", dir: "auto" }, link.text)),
      verse(link.relevant, `Gold: ${reference(link.relevant)}`)),
    make("div", { class: "frame", tabindex: 0, role: "region", "aria-label": `Methods on ${link.query_id}` },
      make("table", { class: "figures" },
        make("thead", {}, make("tr", {},
          ["Method", "Rank", "First stage", "With parallels", "Lost", "First hit"].map((title, place) =>
            make("th", { scope: "col", class: [1, 2, 3].includes(place) && "number" }, title)))),
        make("tbody", {}, outcomes(link).map((found) => row(link, found))))));
}

function row(link, found) {
  const number = (value) => make("td", { class: "number" }, value === null ? "–" : String(value));
  const first = make("td", { class: "words" });
  if (found.top === link.relevant) first.append("the gold passage");
  else if (found.top) {
    first.append(make("b", {}, reference(found.top)), " ",
      found.parallel ? make("span", { class: "tag" }, "parallel") : "", " ",
      make("span", { lang: "la", dir: "auto" }, words(found.top)));
  } else first.append("nothing");
  return make("tr", {}, make("th", { scope: "row" }, methods[found.method] || "method"),
    number(found.rank), number(found.stage), number(found.lenient),
    make("td", { class: found.loss ? "lost" : "" }, found.loss || "–"), first);
}

const pager = new Pager(entry);

function refresh() {
  const asked = folded(at("search").value).split(/\s+/).filter(Boolean);
  const lost = losses[at("loss").value][1];
  const shares = overlaps[at("overlap").value][1];
  const found = links.filter((link) => outcomes(link).some(lost) && shares(link)
    && (!at("type").value || link.type === at("type").value)
    && asked.every((word) => link.words.includes(word)));
  const order = orders[at("sort").value][1];
  found.sort((a, b) => order(a, b) || a.number - b.number);
  pager.set(found);
  const all = links.length;
  at("count").textContent = found.length === all ? plural(all, "link")
    : `${found.length.toLocaleString("en")} of ${plural(all, "link")}`;
}

function drawCounts() {
  const names = ["method", "links", `in_first_${good}`, "lost_in_first_stage", "ranked_low", "top_is_parallel"];
  const titles = ["Method", "Links", `Among the first ${good}`, "Lost in the first stage", "Ranked low", "First hit is a parallel"];
  at("counts").replaceChildren(make("table", { class: "figures" },
    make("thead", {}, make("tr", {}, titles.map((title, place) =>
      make("th", { scope: "col", class: place > 0 && "number" }, title)))),
    make("tbody", {}, counts.map((count) => make("tr", {}, names.map((name, place) => (place
      ? make("td", { class: "number" }, String(count[name]))
      : make("th", { scope: "row" }, count[name] || "method"))))))));
}

// A bar for each method: the shares of its links that were found, ranked low, and lost.
const outcomesOf = [
  ["found", `found among the first ${good}`, `in_first_${good}`],
  ["low", "ranked low", "ranked_low"],
  ["lost", "lost in the first stage", "lost_in_first_stage"],
];

function drawLosses() {
  at("losses").hidden = !counts.length;
  const legend = outcomesOf.map(([name, label]) =>
    make("span", {}, make("span", { class: `key ${name}`, "aria-hidden": "true" }), label));
  at("losses").replaceChildren(make("p", { class: "legend" }, legend), ...counts.map((count) => {
    const told = outcomesOf.map(([, label, field]) => `${count[field]} ${label}`).join(", ");
    const bar = draw("svg", {
      viewBox: `0 0 ${Math.max(1, count.links)} 10`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${count.method || "method"}: ${told}`,
    });
    let place = 0;
    for (const [name, , field] of outcomesOf) {
      bar.append(draw("rect", { class: name, x: place, y: 0, width: count[field], height: 10 }));
      place += count[field];
    }
    return make("div", { class: "loss" }, make("span", {}, count.method || "method"), bar);
  }));
}

function draw(name, properties) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  return made;
}

function start() {
  at("title").textContent = data.title;
  drawFigures(at("figures"), data.figures);
  at("about").textContent = `${plural(links.length, "gold link")}, ${plural(methods.length, "method")}`;
  at("good").textContent = good;
  const types = [...new Set(links.map((link) => link.type).filter(Boolean))].sort();
  at("type-part").hidden = types.length < 2;
  fill(at("type"), [["", "all"], ...types.map((type) => [type, type])], "");
  fill(at("method"), [["", "all"], ...methods.map((method, number) => [String(number), method])], "");
  for (const [id, of] of [["loss", losses], ["overlap", overlaps], ["sort", orders]]) {
    fill(at(id), Object.entries(of).map(([value, [label]]) => [value, label]));
  }
  startList(refresh, ["method", "loss", "type", "overlap", "sort"], ["search"]);
  startTheme();
  drawCounts();
  drawLosses();
  refresh();
}

start();
