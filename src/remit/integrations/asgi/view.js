// Keeps a page and its view together: agents reach the view as long as this holds its socket, and no longer.
(() => {
  "use strict";
  const view = document.querySelector('meta[name="remit-view"]')?.content;
  if (!view) return;
  const decisions = new URL("confirmations", document.currentScript.src);
  const address = new URL("view", decisions);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const FIRST_MS = 500, MOST_MS = 5000, TRIES = 20, GONE = 4410;
  let left = false, tries = 0, socket = null;
  // A page that the browser took out of its own store is an old one: what it named may have ended.
  let restored = performance.getEntriesByType("navigation")[0]?.type === "back_forward";

  function fresh() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // The name of this tab, kept over reloads. A tab that was copied has a copy of it, and takes another.
  function nameOfTab() {
    try {
      if (sessionStorage["remit-tab-left"] !== "yes") sessionStorage["remit-tab"] = fresh();
      sessionStorage["remit-tab-left"] = "no";
      return sessionStorage["remit-tab"] ?? null;
    } catch {
      return null;
    }
  }

  function leave() {
    left = true;
    try { sessionStorage["remit-tab-left"] = "yes"; } catch { /* no store */ }
    socket?.close();
  }

  function say(name) {
    document.body.dispatchEvent(new CustomEvent(name, { bubbles: true }));
  }

  function show(count) {
    let box = document.querySelector("[data-remit-waiting]");
    if (!box) {
      box = document.createElement("div");
      box.setAttribute("data-remit-waiting", "");
      box.style.cssText = "position:fixed;left:16px;bottom:16px;z-index:3000;background:#1b1f24;color:#fff;"
        + "border-radius:4px;padding:6px 12px;font:14px/1.4 system-ui,sans-serif";
      document.body.append(box);
    }
    box.setAttribute("role", "status");
    box.hidden = count === 0;
    box.replaceChildren();
    if (count === 0) return;
    const link = document.createElement("a");
    link.href = decisions;
    link.target = "_blank";
    link.rel = "noopener";
    link.style.color = "inherit";
    link.textContent = count === 1 ? "1 request waits for your decision" : `${count} requests wait for your decision`;
    box.append(link);
  }

  function hear(message) {
    tries = 0;
    restored = false;
    if (message.event === "changed") say(`remit:${message.type}`);
    if (message.event === "handoffs") say("remit-handoffs");
    if (message.event === "waiting") show(message.count);
  }

  function end() {
    if (restored) location.reload();
    else say("remit-gone");
  }

  function connect() {
    const mine = socket = new WebSocket(address);
    mine.onopen = () => mine.send(JSON.stringify({ view, tab }));
    mine.onmessage = (message) => hear(JSON.parse(message.data));
    mine.onclose = (closed) => {
      if (left || mine !== socket) return;
      if (closed.code === GONE || tries >= TRIES) end();
      else setTimeout(connect, Math.min(FIRST_MS * 2 ** tries++, MOST_MS));
    };
  }

  const tab = nameOfTab();
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => {
    if (!event.persisted || !left) return;
    left = false;
    restored = true;
    try { sessionStorage["remit-tab-left"] = "no"; } catch { /* no store */ }
    connect();
  });
  document.body.addEventListener("htmx:configRequest", (event) => {
    const to = new URL(event.detail.path, location.href);
    if (to.origin === location.origin) event.detail.headers["Remit-View"] = view;
  });
  connect();
})();
