// Pages of a list, for the page of errors.

const AT_ONCE = 20;

// Pages of a list: `show(item)` makes the element of an item. A long page is filled bit by bit,
// so that it can be read and used meanwhile; before it is printed it is filled at once.
class Pager {
  constructor(show) {
    Object.assign(this, { show, items: [], page: 0, size: AT_ONCE, waiting: [], drawn: [] });
    addEventListener("beforeprint", () => this.fill(Infinity));
  }

  fill(number) {
    const next = this.waiting.splice(0, number);
    at("list").append(...next.map(this.show));
    this.drawn.push(...next);
    clearTimeout(this.timer);
    if (this.waiting.length) this.timer = setTimeout(() => this.fill(AT_ONCE), 0);
  }

  // `stay`: on the same page; what stands where it stood is left alone, open and focused as it is.
  set(items, stay = false) {
    this.items = items;
    this.go(stay ? this.page : 0, false, stay);
  }

  keep(items) {
    let same = 0;
    while (same < this.drawn.length && this.drawn[same] === items[same]) same += 1;
    const list = at("list");
    while (list.childElementCount > same) list.lastElementChild.remove();
    this.drawn.length = same;
    return same;
  }

  get pages() {
    return Math.max(1, Math.ceil(this.items.length / this.size));
  }

  go(page, focus = true, stay = false) {
    this.page = Math.max(0, Math.min(page, this.pages - 1));
    const start = this.page ? this.page * this.size : 0; // the size may be infinite
    const items = this.items.slice(start, start + this.size);
    const focused = stay ? document.activeElement?.closest("article")?.dataset.id : undefined;
    this.waiting = items.slice(this.keep(stay ? items : []));
    this.fill(AT_ONCE);
    if (focused !== undefined && !at("list").contains(document.activeElement)) {
      [...at("list").children].find((card) => card.dataset.id === focused)
        ?.focus({ preventScroll: true });
    }
    this.turn();
    if (focus) {
      at("list").firstElementChild?.focus({ preventScroll: true });
      document.querySelector("nav.pages").scrollIntoView();
    }
  }

  // The buttons that turn pages; they are left alone where nothing about them changes.
  turn() {
    const state = `${this.page} of ${this.pages}`;
    if (state === this.state) return;
    this.state = state;
    document.querySelectorAll("nav.pages").forEach((nav) => {
      nav.hidden = this.pages === 1;
      const step = (label, to) => make("button", {
        type: "button", disabled: to < 0 || to >= this.pages, onclick: () => this.go(to),
      }, label);
      nav.replaceChildren(
        step("First", this.page ? 0 : -1), step("Previous", this.page - 1),
        make("span", {}, `Page ${this.page + 1} of ${this.pages}`),
        step("Next", this.page + 1), step("Last", this.page + 1 < this.pages ? this.pages - 1 : -1),
      );
    });
  }
}

// The options of a select, as `fill`; nothing happens where they are what they were.
function refill(select, options) {
  const state = JSON.stringify(options);
  if (select.dataset.options === state) return;
  select.dataset.options = state;
  const chosen = options.some(([value]) => value === select.value) ? select.value : options[0][0];
  fill(select, options, chosen);
}

// What controls a list: `choices` are selects, `fields` are typed into.
function startList(refresh, choices, fields) {
  fill(at("size"), [["20", "20 a page"], ["100", "100 a page"], ["all", "all, to print"]], "20");
  at("size").addEventListener("change", () => {
    pager.size = Number(at("size").value) || Infinity;
    pager.go(0, false);
  });
  for (const id of choices) at(id).addEventListener("change", () => refresh());
  for (const id of fields) at(id).addEventListener("input", after(120, () => refresh()));
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("controls").addEventListener("reset", () => setTimeout(() => {
    pager.size = 20;
    refresh();
  }));
}
