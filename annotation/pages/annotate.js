// The page: shows an instance, keeps the judgement that is being made, and hands it to the saver.
// Text from files and annotators only ever becomes text nodes.

import { Saver } from "./saving.js";

const NOTHING = { start: null, end: null, doubt: false, skipped: false, comment: "" };
const at = (id) => document.getElementById(id);

let work; // what the server gave: instances, each with `saved`, what the server has acknowledged
let saver;
let current = 0;
let draft; // the judgement as the page shows it
let words = []; // the elements of the passage's words
let gaps = []; // gaps[i] precedes word i
const done = []; // places of instances saved since the page was opened, for undo
const drafts = new Map(); // judgements that are neither saved nor dropped, by instance id

const instance = () => work.instances[current];
const isEmpty = (mark) => mark.start === null && !mark.doubt && !mark.skipped;
const same = (a, b) => Object.keys(NOTHING).every((name) => a[name] === b[name]);
const typed = () => ({ ...draft, comment: at("comment").value.trim() });
const isChanged = () => !same(typed(), said(instance()));

// What the annotator last said of an instance, acknowledged or not.
function said(each) {
  const waiting = saver.waiting(each.id).filter((change) => change.action === "save");
  return waiting.length ? waiting.at(-1).mark : each.saved.mark;
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function show(number) {
  if (draft && isChanged()) drafts.set(instance().id, typed());
  current = Math.max(0, Math.min(number, work.instances.length - 1));
  const each = instance();
  words = [];
  gaps = [];
  each.pieces.forEach((piece, place) => {
    if (place % 2) words.push(element("span", piece, "word"));
    else gaps.push(element("span", piece, "gap"));
  });
  // Without an anchor, the link's own words are told from their context instead.
  const [first, last] = each.anchor ?? each.own;
  const kind = each.anchor ? "anchor" : "own";
  words.forEach((word, place) => {
    word.dataset.place = place;
    if (place >= first && place < last) word.classList.add(kind);
  });
  for (let place = first + 1; place < last; place++) gaps[place].classList.add(kind);
  at("passage").replaceChildren(...gaps.flatMap((gap, place) => [gap, words[place] ?? ""]));
  at("source").textContent = each.work;
  at("anchor-note").hidden = each.anchor !== null;
  at("verses").replaceChildren(...each.verses.flatMap((verse) => {
    const text = element("dd", verse.text);
    text.lang = "la";
    return [element("dt", verse.reference), text];
  }));
  at("translation-part").hidden = !each.translation;
  at("translation").textContent = each.translation;
  at("number").value = current + 1;
  take(drafts.get(each.id) ?? said(each));
}

function take(judgement) {
  draft = { ...judgement };
  at("comment").value = draft.comment;
  render();
}

// Drop what is not saved.
function reset() {
  drafts.delete(instance().id);
  take(said(instance()));
}

function render() {
  const { start, end } = draft;
  words.forEach((word, place) => word.classList.toggle("in", start !== null && place >= start && place < end));
  gaps.forEach((gap, place) => gap.classList.toggle("in", start !== null && place > start && place < end));
  at("selected").textContent = start === null
    ? "No span yet."
    : `Span of ${count(end - start, "word")}: ${textOf(start, end)}`;
  at("doubt").setAttribute("aria-pressed", draft.doubt);
  at("save").disabled = draft.start === null && !draft.doubt;
  at("state").textContent = stateOf(instance());
  const all = work.instances;
  const finished = all.filter((each) => each.saved.mark.start !== null || each.saved.mark.doubt);
  const skipped = all.filter((each) => each.saved.mark.skipped);
  at("bar").max = all.length;
  at("bar").value = finished.length;
  at("count").textContent = `${finished.length} of ${all.length} done` +
    (skipped.length ? `, ${skipped.length} skipped` : "");
  // Said once all is saved; what is written again would be read out again.
  const told = all.length > 0 && finished.length === all.length && !isChanged()
    && all.every((each) => !saver.waiting(each.id).length)
    ? "All instances are done and saved: thank you. You can close the page, or look through them again. "
      + "Whoever gave you the link goes on with allusion-es agreement and allusion-es annotate export."
    : "";
  if (at("finished").textContent !== told) at("finished").textContent = told;
}

function stateOf(each) {
  if (isChanged()) return "Changed, not saved.";
  if (saver.waiting(each.id).length) return "Not saved yet.";
  const { start, end, doubt, skipped } = each.saved.mark;
  if (skipped) return "Skipped.";
  if (start === null && !doubt) return "Not annotated yet.";
  const span = start === null ? "no span" : count(end - start, "word");
  return `Saved: ${span}${doubt ? ", in doubt" : ""}.`;
}

const count = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;

function textOf(start, end) {
  return instance().pieces.slice(2 * start + 1, 2 * end).join("").replace(/\s+/g, " ");
}

function mark(start, end) {
  draft.start = Math.max(0, start);
  draft.end = Math.min(words.length, end);
  draft.skipped = false;
  render();
}

// Move one end of the span by a word; it never leaves the anchor, or a word where there is none.
function move(left, right) {
  const { anchor, own } = instance();
  if (draft.start === null) {
    // The first step marks the anchor or the link's words, so that the second starts from what
    // can be seen.
    mark(...(anchor ?? own));
    return;
  }
  const start = draft.start + left;
  const end = draft.end + right;
  if (anchor) mark(Math.min(start, anchor[0]), Math.max(end, anchor[1]));
  else if (start < end) mark(start, end);
}

// A word that is pressed without dragging becomes an end of the span.
function press(place) {
  if (instance().anchor) pressAround(place, ...instance().anchor);
  else pressAnywhere(place);
}

function pressAround(place, first, last) {
  if (place >= first && place < last) mark(first, last);
  else if (place < first) mark(place, draft.end ?? last);
  else mark(draft.start ?? first, place + 1);
}

// Outside the span a press widens it, inside it moves the nearer end; on an end it starts anew there.
function pressAnywhere(place) {
  const { start, end } = draft;
  if (start === null || place === start || place === end - 1) mark(place, place + 1);
  else if (place < start || (place < end && place - start < end - 1 - place)) mark(place, end);
  else mark(start, place + 1);
}

function drag(from, to) {
  const places = [from, from + 1, to, to + 1, ...(instance().anchor ?? [])];
  mark(Math.min(...places), Math.max(...places));
}

function save(judgement) {
  problem("");
  const each = instance();
  saver.add({
    action: "save",
    instance: each.id,
    revision: each.saved.revision + saver.waiting(each.id).length,
    mark: judgement,
  });
  done.push(current);
  reset();
  const next = findOpen();
  if (next !== null) show(next);
  at("passage").focus({ preventScroll: true });
}

function saveDraft() {
  if (draft.start === null && !draft.doubt) problem("Mark a span, or press Doubt or Skip.");
  else save({ ...typed(), skipped: false });
}

// Put an instance off; one that has a judgement keeps it.
function skip() {
  const mark = said(instance());
  if (isEmpty(mark) || mark.skipped) save({ ...NOTHING, skipped: true, comment: typed().comment });
  else goOn();
}

// The next instance without a judgement, else the next that was skipped, else null.
function findOpen() {
  const all = work.instances.length;
  const order = Array.from({ length: all }, (_, step) => (current + 1 + step) % all);
  const place = order.find((number) => isEmpty(said(work.instances[number])))
    ?? order.find((number) => number !== current && said(work.instances[number]).skipped);
  return place ?? null;
}

function goOn() {
  const place = findOpen();
  if (place === null) tell(`Nothing is left: all ${work.instances.length} are annotated.`, "saved");
  else show(place);
}

function undo() {
  problem("");
  if (isChanged()) {
    reset();
    return;
  }
  const place = done.length ? done.pop() : current;
  if (place !== current) show(place);
  const each = instance();
  if (!each.saved.undoable && !saver.waiting(each.id).length) {
    problem("There is nothing to undo.");
    return;
  }
  saver.add({
    action: "undo",
    instance: each.id,
    revision: each.saved.revision + saver.waiting(each.id).length,
  });
}

function tell(text, className) {
  at("status").textContent = text;
  at("status").className = className;
}

function problem(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

// What becomes of a change that the saver sends.
function heard(kind, change, reply) {
  const left = saver.waiting().length;
  const kept = `${count(left, "change")} kept in this browser`;
  const place = work.instances.findIndex((each) => each.id === change.instance);
  if (kind === "sending") {
    if (at("status").className !== "lost") tell("Saving…", "");
  } else if (kind === "lost") {
    const why = reply?.error ? `the server says: ${reply.error}` : "the server does not answer";
    tell(`Not saved: ${why}. ${kept}; trying again.`, "lost");
  } else if (kind === "closed") {
    tell(`Not saved: ${reply.error}. ${kept}.`, "lost");
  } else {
    if (kind !== "saved") problem(`Instance ${place + 1} was not saved: ${reply.error}.`);
    learn(work.instances[place], change, reply.saved);
    tell(left ? "Saving…" : kind === "saved" ? "Saved." : "", left ? "" : "saved");
  }
  render();
}

// Take over what the server holds, unless the annotator has gone on changing the instance.
function learn(each, change, saved) {
  if (!saved) return;
  const untouched = each === instance() && same(typed(), change.mark ?? each.saved.mark);
  each.saved = saved;
  if (untouched) reset();
}

function onKey(event) {
  const { key, target } = event;
  const writing = target.matches("textarea, input");
  const command = event.ctrlKey || event.metaKey;
  let act = null;
  if (target === at("comment")) {
    if (key === "Escape") act = () => at("passage").focus();
    if (key === "Enter" && command) act = saveDraft;
  } else if (!writing && command && key.toLowerCase() === "z") {
    act = undo;
  } else if (!writing && !command && !event.altKey) {
    act = keyAction(key, event.shiftKey, target);
  }
  if (!act) return;
  event.preventDefault();
  act();
}

function keyAction(key, shift, target) {
  if (key === "ArrowLeft") return shift ? () => move(0, -1) : () => move(-1, 0);
  if (key === "ArrowRight") return shift ? () => move(1, 0) : () => move(0, 1);
  // On a button or link, Enter means that.
  if (key === "Enter") return target.matches("button, summary, a") ? null : saveDraft;
  return {
    d: doubt,
    s: skip,
    u: undo,
    c: () => at("comment").focus(),
    p: () => show(current - 1),
    n: () => show(current + 1),
    g: goOn,
  }[key.toLowerCase()] ?? null;
}

function doubt() {
  draft.doubt = !draft.doubt;
  draft.skipped = false;
  render();
}

function listenToPointer() {
  const passage = at("passage");
  const placeOf = (target) => {
    const word = target?.closest?.("#passage .word");
    return word ? Number(word.dataset.place) : null;
  };
  let from = null; // the word that was pressed, while the pointer is down
  let to = null; // the word that the pointer was last over
  let dragged = false;
  passage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    from = to = placeOf(event.target);
    dragged = false;
    if (from !== null) passage.setPointerCapture(event.pointerId);
    passage.focus({ preventScroll: true });
  });
  passage.addEventListener("pointermove", (event) => {
    if (from === null || !event.isPrimary) return;
    const place = placeOf(document.elementFromPoint(event.clientX, event.clientY));
    if (place === null || place === to) return;
    to = place;
    dragged = true;
    drag(from, to);
  });
  const end = (event) => {
    if (from === null || !event.isPrimary) return;
    if (event.type === "pointerup" && !dragged) press(from);
    from = null;
  };
  passage.addEventListener("pointerup", end);
  passage.addEventListener("pointercancel", end);
}

function listen() {
  const actions = {
    "wider-left": () => move(-1, 0),
    "narrower-left": () => move(1, 0),
    "narrower-right": () => move(0, -1),
    "wider-right": () => move(0, 1),
    doubt,
    skip,
    undo,
    previous: () => show(current - 1),
    next: () => show(current + 1),
    open: goOn,
  };
  for (const [id, act] of Object.entries(actions)) {
    at(id).addEventListener("click", (event) => {
      act();
      // After a click, keys belong to the passage again; whoever tabbed here stays here.
      if (event.detail) at("passage").focus({ preventScroll: true });
    });
  }
  at("judgement").addEventListener("submit", (event) => {
    event.preventDefault();
    saveDraft();
  });
  at("comment").addEventListener("input", render);
  at("number").addEventListener("change", (event) => show(Number(event.target.value) - 1));
  document.addEventListener("keydown", onKey);
  listenToPointer();
}

async function begin() {
  const answer = await fetch("api/work");
  const reply = await answer.json();
  if (!answer.ok) throw new Error(reply.error);
  work = reply;
  const ids = new Set(work.instances.map((each) => each.id));
  saver = new Saver(`allusion-es:${work.store}:${work.annotator}:`, ids, heard);
  at("who").textContent = `Annotator: ${work.annotator}`;
  at("comment").maxLength = work.longest_comment;
  at("number").max = work.instances.length;
  at("of").textContent = `of ${work.instances.length}`;
  at("work").hidden = false;
  const first = work.instances.findIndex((each) => isEmpty(said(each)));
  tell("", "");
  show(first < 0 ? 0 : first);
  listen();
  at("passage").focus({ preventScroll: true });
  saver.run();
}

begin().catch((error) => {
  tell("", "");
  problem(`The page could not be loaded: ${error.message}. Is the server running? Reload to try again.`);
});
