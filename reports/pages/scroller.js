// A long list of which only what is near the window is in the document. Heights that are not yet known
// are guessed; when one turns out otherwise above the window, the window moves along with it.
//
// A frame draws what is seen, and a little of what is beyond; the rest follows when nothing else happens,
// so that neither a fast scroll nor the slider has to wait for what nobody sees yet.

const CLOSE = 120; // pixels above and below the window that are drawn at once
const BEYOND = 900; // pixels above and below the window that are drawn in the end
const MORE = 4; // items beyond `CLOSE` that are made in one frame
const QUIET = 80; // milliseconds without a change before the rest is drawn
const scrollers = new Set();

class Scroller {
  // `show(item)` makes an item's element, `guess(item)` its likely height, `place(elements)` is called
  // once these stand in the document; `spacer` is the element that fills what is left out.
  constructor(box, { show, guess, place = () => {}, spacer = "div" }) {
    Object.assign(this, { box, show, guess, place, items: [], heights: [], drawn: new Map() });
    [this.above, this.below] = [0, 1].map(() => make(spacer, { class: "spacer", "aria-hidden": "true" }));
    box.replaceChildren(this.above, this.below);
    scrollers.add(this);
  }

  // The items of the list. Elements of those that stay are kept unless `fresh`.
  set(items, fresh = false) {
    if (items !== this.items) {
      const known = new Map(this.items.map((item, n) => [item, this.heights[n]]));
      this.items = items;
      this.heights = items.map((item) => known.get(item) ?? this.guess(item));
    }
    const stay = fresh ? null : new Set(items);
    const { isShown } = this; // asked before anything changes, while it costs no layout
    for (const [item, element] of this.drawn) {
      if (!stay?.has(item)) { element.remove(); this.drawn.delete(item); }
    }
    if (isShown) this.draw();
  }

  // Draws an item again in its place.
  refresh(item) {
    const old = this.drawn.get(item);
    if (!old) return;
    const element = this.show(item);
    old.replaceWith(element);
    this.drawn.set(item, element);
    this.place([element]);
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
    for (let round = 0; round < 3; round += 1) {
      const y = -this.box.getBoundingClientRect().top;
      const [first, last, top] = all ? [0, this.items.length, 0] : this.wanted(y);
      this.put(first, last, top);
      if (!this.measure(first, last, y) || all) return;
      // Lower than guessed: does it still fill the window?
      const [from, to] = this.range(y, y + innerHeight);
      if (from >= first && to <= last) return;
    }
  }

  // What to draw where the window begins at `y`: first, last (exclusive), and pixels above the first.
  wanted(y) {
    let [first, last, top] = this.range(y - CLOSE, y + innerHeight + CLOSE);
    const [start, end] = this.range(y - BEYOND, y + innerHeight + BEYOND);
    let left = MORE;
    const take = (n) => this.drawn.has(this.items[n]) || (left > 0 && (left -= 1, true));
    while (last < end && take(last)) last += 1;
    while (first > start && take(first - 1)) { first -= 1; top -= this.heights[first]; }
    if (first > start || last < end) drawRest();
    return [first, last, top];
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
        made.push(element);
      }
      if (before.nextSibling !== element) before.after(element);
      before = element;
    }
    const sum = (heights) => heights.reduce((total, height) => total + height, 0);
    this.above.style.height = `${top}px`;
    this.below.style.height = `${sum(this.heights.slice(last))}px`;
    if (made.length) this.place(made);
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
  drawing = requestAnimationFrame(() => scrollers.forEach((each) => { if (each.isShown) each.draw(); }));
};
const drawRest = after(QUIET, () => redraw());
addEventListener("scroll", redraw, { passive: true });
addEventListener("resize", () => { scrollers.forEach((each) => each.onresize?.()); redraw(); });
