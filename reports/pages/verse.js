// A verse that a place may allude to: its words, why, what the reader says of it, what can be copied.

// A text with the words that carry a match in the colours of their pairs.
function colouredText(text, words, colours, className) {
  const characters = [...text];
  const made = make("p", { class: `text ${className}`, lang: "la", dir: "auto" });
  let place = 0;
  words.forEach(([start, end, added, shade], n) => {
    const colour = colours.get(n);
    if (!colour && shade < 0.1) return;
    made.append(characters.slice(place, start).join(""));
    const word = make("span", {
      class: colour ? `w c${colour}` : "w", title: added === null ? undefined : `adds ${figure(added)}`,
    }, characters.slice(start, end).join(""));
    word.style.setProperty("--shade", shade);
    made.append(word);
    place = end;
  });
  made.append(characters.slice(place).join(""));
  return made;
}

function neighbour(number, far) {
  const passage = passages[number];
  const verse = /[,:](\S+)$/.exec(passage.reference)?.[1] ?? passage.reference;
  return make("p", { class: `text neighbour${far ? " far" : ""}`, lang: "la", dir: "auto", hidden: far },
    make("b", { title: passage.reference }, verse), ` ${passage.text}`);
}

// The verse between its neighbours: one on each side, the others when asked for.
function verseInContext(match) {
  const passage = passageOf(match);
  const before = match.before.map((number, n) => neighbour(number, n < match.before.length - 1));
  const after = match.after.map((number, n) => neighbour(number, n > 0));
  const far = [...before, ...after].filter((each) => each.hidden);
  const more = far.length ? make("button", {
    type: "button", class: "plain", "aria-expanded": "false",
    onclick: () => {
      const open = more.getAttribute("aria-expanded") !== "true";
      more.setAttribute("aria-expanded", String(open));
      more.textContent = open ? "Fewer verses" : "More verses";
      far.forEach((each) => { each.hidden = !open; });
    },
  }, "More verses") : undefined;
  return make("div", { class: "context" }, before,
    colouredText(passage.text, match.words, pairColours(match).words, "verse"), after, more);
}

function judgeButtons(finding, match, small = false) {
  const given = judgementOf(finding, match)?.decision ?? "";
  const { reference } = passageOf(match);
  return ["accept", "reject"].map((decision) => make("button", {
    type: "button", class: `${decision}${small ? " small" : ""}`, "aria-pressed": String(given === decision),
    "aria-label": small ? `${decision === "accept" ? "Accept" : "Reject"} ${reference}` : undefined,
    title: small ? `${decision} ${reference}` : undefined,
    onclick: (event) => { event.stopPropagation(); decide(finding, match, decision); },
  }, small ? { accept: "✓", reject: "✗" }[decision] : { accept: "Accept", reject: "Reject" }[decision]));
}

function judging(finding, match) {
  const comment = make("input", {
    class: "comment", placeholder: "Comment", maxlength: 2000,
    "aria-label": `Comment on ${passageOf(match).reference}`,
    value: judgementOf(finding, match)?.comment ?? "",
    onchange: () => judge(finding, match, { comment: comment.value.trim() }, false),
  });
  return make("div", { class: "judge", role: "group", "aria-label": `Your judgement of ${passageOf(match).reference}` },
    judgeButtons(finding, match), comment);
}

function copying(match) {
  return make("div", { class: "copy" }, make("span", {}, "Copy"),
    Object.values(citations).map(([name, text]) => make("button", {
      type: "button", class: "plain", onclick: (event) => copy(text(match), event.currentTarget),
    }, name)));
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without leave to use the clipboard: as the browser copies what is selected.
    const area = make("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const name = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = name; }, 1200);
}

// Numbers, for those who want to know how the method came to it.
function numbers(finding, match) {
  const rows = [["Passage", idsOf(passageOf(match)).join(" ")]];
  if (match.probability !== undefined) rows.push(["Probability", figure(match.probability)]);
  rows.push(["Score", `${figure(match.score)}, rank ${finding.matches.indexOf(match) + 1} of ${finding.matches.length}`]);
  if (match.candidateRank) rows.push(["Before ranking again", `${figure(match.candidateScore)}, rank ${match.candidateRank}`]);
  if (finding.method) rows.push(["Method", finding.method]);
  rows.push(["Place", nameOf(finding)]);
  const pairs = [...match.pairs, ...(match.apart ?? [])].map(([one, other, added]) => make("tr", {},
    make("td", {}, one), make("td", {}, other), make("td", { class: "number" }, added === null ? "" : figure(added))));
  if (match.others) pairs.push(make("tr", {}, make("td", { colspan: 2 }, `${plural(match.others[0], "other pair")}`),
    make("td", { class: "number" }, figure(match.others[1]))));
  return make("details", { class: "numbers" }, make("summary", {}, "For researchers"),
    make("dl", {}, rows.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value)))),
    pairs.length ? make("table", {}, make("thead", {}, make("tr", {}, ["here", "there", "adds"].map((each) =>
      make("th", { scope: "col" }, each)))), make("tbody", {}, pairs)) : undefined);
}

const verdict = (match) => [likelihood(match), match.kind].filter(Boolean).join(" · ");

// --- The panel beside the text ---

const panel = {
  draw() {
    const box = at("panel");
    const scrolled = box.scrollTop;
    box.hidden = !selected;
    document.body.classList.toggle("selecting", Boolean(selected));
    if (!selected) return box.replaceChildren();
    const match = shown(selected);
    const active = document.activeElement;
    const focused = box.contains(active) && active.className;
    const place = visible.indexOf(selected);
    const step = (label, by, key) => make("button", {
      type: "button", class: "plain", "aria-label": label, title: `${label} (${key})`, disabled: !visible[place + by],
      onclick: () => select(visible[place + by], true),
    }, by < 0 ? "‹" : "›");
    box.replaceChildren(...[
      make("div", { class: "steps" }, step("Previous place", -1, "K"),
        make("span", {}, `${(place + 1).toLocaleString("en")} of ${visible.length.toLocaleString("en")}`),
        step("Next place", 1, "J"),
        make("button", { type: "button", class: "plain close", "aria-label": "Close the verse", onclick: () => select(null) }, "✕")),
      make("h3", {}, passageOf(match).reference, make("span", { class: "verdict" }, verdict(match))),
      make("p", { class: "why" }, why(selected, match)),
      view === "reading" ? "" : placeText(selected, match),
      verseInContext(match),
      match.parallels ? make("p", { class: "quiet" }, `Nearly the same: ${match.parallels.join("; ")}`) : "",
      selected.note ? make("p", { class: "quiet" }, selected.note) : "",
      judging(selected, match),
      otherVerses(selected, match),
      copying(match),
      numbers(selected, match),
    ].filter(Boolean));
    box.scrollTop = scrolled;
    if (focused) box.querySelector(`.${focused.trim().split(" ").join(".")}`)?.focus();
  },
};

const NEAR = 90; // characters of context before and after the words of a place

// The words of a place in their context.
function placeText(finding, match) {
  const text = colouredText(finding.text, match.query, pairColours(match).query, "words");
  text.prepend(contextBefore(finding, NEAR));
  text.append(contextAfter(finding, NEAR));
  return text;
}

// Whole words of what stands before or after a place, up to so many characters.
function contextBefore({ before = "" }, most) {
  const near = before.slice(-most);
  return make("span", { class: "around" }, before.length > most ? `…${near.slice(near.search(/\s/) + 1)}` : before);
}

function contextAfter({ after = "" }, most) {
  const near = after.slice(0, most);
  return make("span", { class: "around" }, after.length > most ? `${near.replace(/\s+\S*$/, "")}…` : after);
}

function otherVerses(finding, current) {
  if (finding.matches.length < 2) return undefined;
  return make("section", { class: "others", "aria-label": "Other verses of this place" },
    make("h4", {}, "Or"), make("ul", {}, finding.matches.filter((match) => match !== current).map((match) =>
      make("li", { class: judgementOf(finding, match)?.decision ?? "" },
        make("button", { type: "button", class: "plain", onclick: () => showMatch(finding, match) }, passageOf(match).reference),
        make("span", { class: "beginning", lang: "la" }, passageOf(match).text),
        judgeButtons(finding, match, true)))));
}

function showMatch(finding, match) {
  shownMatch.set(finding, match);
  changed(finding);
}
