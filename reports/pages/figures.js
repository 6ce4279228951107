// Tables of figures, pictures of them, and notes, as children of one element.

function drawFigures(place, { tables, pictures, notes }) {
  place.replaceChildren(
    ...tables.flatMap(({ heading, heads, rows }, number) => [
      make("h2", { id: `figures-${number}` }, heading),
      make("div", { class: "frame", tabindex: 0, role: "region", "aria-labelledby": `figures-${number}` },
        make("table", { class: "figures" },
          make("thead", {}, make("tr", {}, heads.map(([name, isNumber]) =>
            make("th", { scope: "col", class: isNumber && "number" }, name)))),
          make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, column) => (column
            ? make("td", { class: heads[column][1] && "number" }, cell)
            : make("th", { scope: "row" }, cell)))))))),
    ]),
    ...pictures.map(([told, source]) => make("p", {}, make("img", { src: source, alt: told, class: "picture" }))),
    ...notes.map((note) => make("p", { class: "quiet" }, note)),
  );
}
