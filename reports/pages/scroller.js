// A long list of which only what is near the window is in the document. Heights that are not yet known
// are guessed; when one turns out otherwise above the window, the window moves along with it.

const BEYOND = 900; // pixels above and below the window that are drawn too
const scrollers = new Set();

class Scroller {
  // `show(item)` makes an item's element, `guess(item)` its likely height, `place(item, element)` is
  // called once it stands in the document; `spacer` is the element that fills what is left out.
  constructor(box, { show, guess, place = () => {}, spacer = "div" }) {
    Object.assign(this, { box, show, guess, place, items: [], heights: [], drawn: new Map() });
    [this.above, this.below] = [0, 1].map(() => make(spacer, { class: "spacer", "aria-hidden": "true" }));
    box.replaceChildren(this.above, this.below);
    scrollers.add(this);
  }

  // The items of the list. Elements of those that stay are kept unless `fresh`.
  set(items, fresh = false) {
    const known = new Map(this.items.map((item, n) => [item, this.heights[n]]));
    this.items = items;
    this.heights = items.map((item) => known.get(item) ?? this.guess(item));
    const places = new Map(items.map((item, n) => [item, n]));
    for (const [item, element] of this.drawn) {
      if (fresh || !places.has(item)) { element.remove(); this.drawn.delete(item); }
    }
    this.draw();
  }

  // Draws an item again in its place.
  refresh(item) {
    const old = this.drawn.get(item);
    if (!old) return;
    const element = this.show(item);
    old.replaceWith(element);
    this.drawn.set(item, element);
    this.place(item, element);
  }

  get isShown() { return this.box.isConnected && this.box.offsetParent !== null; }

  range(from, to) {
    let [first, y] = [0, 0];
    while (first < this.items.length && y + this.heights[first] < from) { y += this.heights[first]; first += 1; }
    const top = y;
    let last = first;
    while (last < this.items.length && y < to) { y += this.heights[last]; last += 1; }
    return [first, last, top];
  }

  draw(all = false) {
    if (!this.isShown && !all) return;
    for (let round = 0; round < 3; round += 1) {
      const y = -this.box.getBoundingClientRect().top;
      const [first, last, top] = all ? [0, this.items.length, 0]
        : this.range(y - BEYOND, y + innerHeight + BEYOND);
      this.put(first, last, top);
      if (!this.measure(first, last, y) || all) return;
    }
  }

  put(first, last, top) {
    const wanted = new Set(this.items.slice(first, last));
    for (const [item, element] of this.drawn) {
      if (!wanted.has(item)) {
        element.remove();
        this.drawn.delete(item);
      }
    }
    const made = [];
    let before = this.above;
    for (const item of wanted) {
      let element = this.drawn.get(item);
      if (!element) {
        element = this.show(item);
        this.drawn.set(item, element);
        made.push([item, element]);
      }
      if (before.nextSibling !== element) before.after(element);
      before = element;
    }
    const sum = (heights) => heights.reduce((total, height) => total + height, 0);
    this.above.style.height = `${top}px`;
    this.below.style.height = `${sum(this.heights.slice(last))}px`;
    for (const [item, element] of made) this.place(item, element);
  }

  // Takes the true heights; whether any differed.
  measure(first, last, y) {
    let [shift, differs, top] = [0, false, 0];
    const tall = this.items.slice(first, last).map((item) => this.drawn.get(item).getBoundingClientRect().height);
    top = this.heights.slice(0, first).reduce((total, height) => total + height, 0);
    tall.forEach((height, n) => {
      const known = this.heights[first + n];
      if (Math.abs(height - known) > 0.5) {
        differs = true;
        if (top + known < y) shift += height - known;
        this.heights[first + n] = height;
      }
      top += known;
    });
    if (Math.abs(shift) > 0.5) scrollBy(0, shift);
    return differs;
  }

  // Brings an item into view, if it is not, at a third of the window.
  reveal(item, offset = 0) {
    const number = this.items.indexOf(item);
    if (number < 0 || !this.isShown) return;
    for (let round = 0; round < 3; round += 1) {
      const top = this.heights.slice(0, number).reduce((total, height) => total + height, 0) + offset;
      const y = top + this.box.getBoundingClientRect().top;
      if (y > 140 && y < innerHeight * 0.6) break;
      scrollTo(0, scrollY + y - innerHeight / 3);
      this.draw();
    }
  }
}

let drawing = 0;
const redraw = () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => scrollers.forEach((each) => each.draw()));
};
addEventListener("scroll", redraw, { passive: true });
addEventListener("resize", () => { scrollers.forEach((each) => each.onresize?.()); redraw(); });
