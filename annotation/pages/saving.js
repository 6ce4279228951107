// Changes go out one after the other, each with a key of its own, and stay in this browser until
// the server has acknowledged them. The server makes a change of the same key only once.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;
const TIMEOUT = 20000;

export class Saver {
  // `prefix` names this annotator's changes in the browser's storage, of which those of
  // instances with these `ids` are sent; `heard` is called with (kind, change, reply) whenever
  // something happens; kinds: sending, lost, closed, saved, conflict, refused.
  constructor(prefix, ids, heard) {
    this.prefix = prefix;
    this.heard = heard;
    this.queue = this.stored().filter((change) => ids.has(change.instance));
    this.wait = FIRST_WAIT;
    this.running = false;
  }

  add(change) {
    const last = this.queue.at(-1);
    change.key = crypto.getRandomValues(new Uint32Array(4)).join("-");
    change.order = Math.max(Date.now(), last ? last.order + 1 : 0);
    this.queue.push(change);
    try {
      localStorage.setItem(this.prefix + change.key, JSON.stringify(change));
    } catch {
      // Storage is full or forbidden: the change is still kept while the page is open.
    }
    this.run();
  }

  // Changes that wait for an acknowledgement, of one instance or of all.
  waiting(instance) {
    return this.queue.filter((change) => instance === undefined || change.instance === instance);
  }

  async run() {
    if (this.running) return;
    this.running = true;
    while (this.queue.length) {
      const change = this.queue[0];
      this.heard("sending", change);
      const [kind, reply] = await send(change);
      if (kind === "lost" || kind === "closed") {
        this.heard(kind, change, reply);
        await this.pause();
        continue;
      }
      this.wait = FIRST_WAIT;
      this.drop(change);
      if (kind !== "saved") {
        // What was built on it cannot stand either.
        this.waiting(change.instance).forEach((later) => this.drop(later));
      }
      this.heard(kind, change, reply);
    }
    this.running = false;
  }

  pause() {
    const wait = this.wait;
    this.wait = Math.min(2 * wait, LONGEST_WAIT);
    return new Promise((go) => {
      const timer = setTimeout(go, wait);
      addEventListener("online", () => { clearTimeout(timer); go(); }, { once: true });
    });
  }

  drop(change) {
    this.queue = this.queue.filter((each) => each.key !== change.key);
    try {
      localStorage.removeItem(this.prefix + change.key);
    } catch {
      // See add.
    }
  }

  stored() {
    try {
      return Object.keys(localStorage)
        .filter((name) => name.startsWith(this.prefix))
        .map((name) => JSON.parse(localStorage.getItem(name)))
        .sort((a, b) => a.order - b.order);
    } catch {
      return [];
    }
  }
}

async function send({ action, instance, key, revision, mark }) {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT);
  try {
    const answer = await fetch(`api/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ instance, key, revision, mark }),
      signal: timeout.signal,
    });
    const reply = await answer.json();
    if (answer.ok) return ["saved", reply];
    if (answer.status === 409) return ["conflict", reply];
    if (answer.status === 403 || answer.status === 421) return ["closed", reply];
    return [answer.status >= 500 ? "lost" : "refused", reply];
  } catch {
    // No answer, or one that is cut off.
    return ["lost", null];
  } finally {
    clearTimeout(timer);
  }
}
