// The browser module: a page's own code answers for components that are declared in Python.
// The server decides what may be called, with which input, and whether an answer is one; this only carries calls.

const PLACE = new URL("browser/", import.meta.url);
const FIRST_MS = 500;
const MOST_MS = 5000;
const SILENT = 4;
const MOST_NAMES = 256;
const NO_RETURN = new Map([
  [1008, "refused"],
  [1009, "refused"],
  [1011, "failed"],
  [4401, "signed-out"],
]);

/** Thrown by a handler, it is the page's own "no": the agent reads the reason, and nothing was done. */
export class Refused extends Error {
  constructor(reason) {
    super(String(reason));
    this.name = "Refused";
  }
}

/** One component that this page answers for. `handlers` may be replaced at any time; the names must stay. */
export class Binding {
  #page;

  constructor(page, number, type, handlers, options) {
    this.#page = page;
    this.number = number;
    this.type = type;
    this.instance = options.instance ?? "default";
    this.handlers = handlers;
    this.enabled = options.enabled ?? true;
    this.why = options.reason ?? null;
    this.available = { ...options.available };
    this.status = "pending";
    this.reason = null;
  }

  /** Say what can be used now; it only ever lowers what the server allows. */
  update({ enabled, reason, available } = {}) {
    if (enabled !== undefined) {
      this.enabled = enabled;
      this.why = null;
    }
    if (reason !== undefined) this.why = reason;
    Object.assign(this.available, available);
    this.#page._tell(this);
  }

  /** Answer for it no more; twice is nothing. */
  unbind() {
    this.#page._unbind(this);
  }
}

/** The page's one connection; `connect()` makes it. */
export class Page extends EventTarget {
  #bindings = new Map();
  #answers = new Map();
  #running = new Map();
  #changed = new Set();
  #said = new WeakMap();
  #numbers = 0;
  #last = 0;
  #id = null;
  #tab = nameOfTab();
  #socket = null;
  #open = false;
  #most = 0;
  #heard = 0;
  #pingMs = 3000;
  #tries = 0;
  #timer = null;
  #left = false;
  #route = location.pathname;

  constructor() {
    super();
    this.state = "connecting";
    this.reason = null;
    addEventListener("pagehide", () => this.#leave());
    addEventListener("pageshow", (event) => event.persisted && this.#back());
    addEventListener("online", () => this.#watch(1) || this.#again(0));
    addEventListener("popstate", () => this.moved());
    globalThis.navigation?.addEventListener("currententrychange", () => this.moved());
    setInterval(() => this.#watch(), 1000);
    this.#connect();
  }

  /** Answer for a component: `handlers` by the names of its capabilities. */
  bind(type, handlers, options = {}) {
    const binding = new Binding(this, ++this.#numbers, type, handlers, options);
    this.#bindings.set(binding.number, binding);
    this._tell(binding);
    return binding;
  }

  /** The page shows another path now; where the browser tells that, it is seen by itself. */
  moved() {
    if (location.pathname === this.#route) return;
    this.#route = location.pathname;
    this.#send({ route: this.#route, title: document.title });
    for (const binding of this.#bindings.values()) if (binding.reason === "not-listed") this._tell(binding);
  }

  // Once a turn, however often it changes, and only what has changed.
  _tell(binding) {
    if (this.#changed.size === 0) queueMicrotask(() => this.#tellChanged());
    this.#changed.add(binding);
  }

  #tellChanged() {
    const changed = [...this.#changed];
    this.#changed.clear();
    changed.forEach((binding) => this.#tellNow(binding));
  }

  #tellNow(binding) {
    if (!this.#open || this.#bindings.get(binding.number) !== binding) return;
    const available = {};
    for (const [name, why] of Object.entries(binding.available)) if (why !== true) available[name] = String(why);
    const frame = {
      bind: binding.number,
      type: binding.type,
      instance: binding.instance,
      handlers: namesOf(binding.handlers),
      enabled: Boolean(binding.enabled),
      reason: binding.why === null ? null : String(binding.why),
      available,
    };
    const text = JSON.stringify(frame);
    if (this.#said.get(binding) === text && binding.reason === null) return;
    this.#said.set(binding, text);
    this.#send(frame);
  }

  _unbind(binding) {
    if (!this.#bindings.delete(binding.number)) return;
    this.#send({ unbind: binding.number });
    this.#set(binding, "unbound", null);
  }

  async #connect() {
    if (this.#socket !== null || this.#left || this.state === "ended") return;
    const mine = (this.#socket = { socket: null });
    try {
      const answer = await fetch(new URL("token", PLACE), { credentials: "same-origin", cache: "no-store" });
      if (answer.status === 401) return this.#end("signed-out");
      if (answer.status >= 400 && answer.status < 500) return this.#end("refused");
      if (!answer.ok) throw new Error(String(answer.status));
      const { token } = await answer.json();
      if (this.#socket !== mine) return;
      this.#listen(mine, token);
    } catch {
      if (this.#socket === mine) this.#lost();
    }
  }

  #listen(mine, token) {
    const address = new URL("socket", PLACE);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = (mine.socket = new WebSocket(address));
    this.#heard = Date.now();
    socket.onopen = () => {
      const { title } = document;
      this.#route = location.pathname;
      socket.send(JSON.stringify({ token, page: this.#id, tab: this.#tab, route: this.#route, title, last: this.#last }));
    };
    socket.onmessage = (event) => {
      if (this.#socket !== mine) return;
      this.#heard = Date.now();
      this.#hear(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (this.#socket !== mine) return;
      const why = NO_RETURN.get(event.code);
      if (why === undefined) this.#lost();
      else this.#end(why);
    };
  }

  #hear(frame) {
    if ("call" in frame) this.#run(frame);
    else if ("cancel" in frame) this.#running.get(frame.cancel)?.abort();
    else if ("ack" in frame) this.#answers.delete(frame.ack);
    else if ("ping" in frame) this.#send({ pong: frame.ping });
    else if ("bound" in frame && "page" in frame) this.#welcomed(frame);
    else if ("bound" in frame) this.#bound(frame);
    else if ("unbound" in frame) this.#unbound(frame);
  }

  #welcomed(frame) {
    if (!frame.resumed) this.#last = 0;
    this.#id = frame.page;
    this.#most = frame.most;
    this.#pingMs = frame.ping_ms;
    this.#tries = 0;
    this.#open = true;
    const open = new Set(frame.resumed ? frame.open : []);
    for (const [number, abort] of this.#running) if (!open.has(number)) abort.abort();
    for (const number of frame.bound) if (!this.#bindings.has(number)) this.#send({ unbind: number });
    this.#said = new WeakMap();
    for (const binding of this.#bindings.values()) this.#tellNow(binding);
    for (const [number, text] of this.#answers) {
      if (open.has(number)) this.#socket.socket.send(text);
      else this.#answers.delete(number);
    }
    this.#become("open", null);
  }

  #bound(frame) {
    const binding = this.#bindings.get(frame.bound);
    if (binding === undefined) return;
    if (frame.refused === undefined) return this.#set(binding, "bound", null);
    console.warn(`remit: ${binding.type}/${binding.instance} is not bound: ${frame.refused}`);
    this.#set(binding, "refused", frame.refused);
  }

  #unbound(frame) {
    const binding = this.#bindings.get(frame.unbound);
    if (binding !== undefined) this.#set(binding, "refused", frame.why);
  }

  async #run(frame) {
    const number = frame.call;
    if (number <= this.#last) return;
    this.#last = number;
    const abort = new AbortController();
    this.#running.set(number, abort);
    const page = this.#id;
    let text;
    try {
      text = await this.#answer(frame, abort.signal);
    } finally {
      if (this.#running.get(number) === abort) this.#running.delete(number);
    }
    if (abort.signal.aborted || this.#id !== page) return;
    this.#answers.set(number, text);
    if (this.#open) this.#socket.socket.send(text);
  }

  async #answer(frame, signal) {
    const answer = frame.call;
    try {
      const handlers = this.#bindings.get(frame.bind)?.handlers;
      const value = await handlers[frame.name](frame.input, { signal, invocation: frame.invocation });
      const text = JSON.stringify({ answer, ok: value === undefined ? null : value });
      const fits = new TextEncoder().encode(text).length <= this.#most;
      return fits ? text : JSON.stringify({ answer, failed: "too-large" });
    } catch (error) {
      if (error instanceof Refused) return JSON.stringify({ answer, refused: error.message.slice(0, 1000) });
      console.error("remit: a handler failed", error);
      return JSON.stringify({ answer, failed: "handler" });
    }
  }

  #send(frame) {
    if (this.#open) this.#socket.socket.send(JSON.stringify(frame));
  }

  // True when a connection that looks open was found to be none.
  #watch(pings = SILENT) {
    const silent = this.#open && Date.now() - this.#heard > pings * this.#pingMs + 500;
    if (silent) this.#lost();
    return silent;
  }

  #drop() {
    const held = this.#socket?.socket;
    this.#socket = null;
    this.#open = false;
    held?.close();
  }

  #lost() {
    this.#drop();
    if (this.#left || this.state === "ended") return;
    this.#become("away", null);
    this.#again(Math.min(FIRST_MS * 2 ** this.#tries++, MOST_MS));
  }

  #again(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), ms);
  }

  #leave() {
    this.#send({ left: true });
    this.#left = true;
    markTab("yes");
    this.#drop();
  }

  #back() {
    this.#left = false;
    markTab("no");
    this.#again(0);
  }

  #end(why) {
    this.#drop();
    for (const abort of this.#running.values()) abort.abort();
    this.#become("ended", why);
    for (const binding of this.#bindings.values()) this.#set(binding, "unbound", why);
  }

  #become(state, reason) {
    if (this.state === state) return;
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event("state"));
  }

  #set(binding, status, reason) {
    if (binding.status === status && binding.reason === reason) return;
    binding.status = status;
    binding.reason = reason;
    this.dispatchEvent(new CustomEvent("binding", { detail: binding }));
  }
}

let page = null;

/** The connection of this page; there is one, however often it is asked for. */
export function connect() {
  page ??= new Page();
  return page;
}

function namesOf(handlers) {
  const names = new Set();
  for (let each = handlers; each && each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    for (const name of Object.getOwnPropertyNames(each)) {
      if (name !== "constructor" && typeof handlers[name] === "function") names.add(name);
    }
  }
  return [...names].slice(0, MOST_NAMES);
}

// The name of this tab, kept over reloads. A tab that was copied has a copy of it, and takes another.
function nameOfTab() {
  try {
    const store = sessionStorage;
    if (store["remit-browser-left"] !== "yes") store["remit-browser-tab"] = fresh();
    store["remit-browser-left"] = "no";
    return store["remit-browser-tab"];
  } catch {
    return null;
  }
}

function markTab(left) {
  try {
    sessionStorage["remit-browser-left"] = left;
  } catch {
    // no store
  }
}

function fresh() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
