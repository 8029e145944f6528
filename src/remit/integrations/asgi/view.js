// Keeps a page and its view together: agents reach the view as long as this reads its stream, and no longer.
(() => {
  "use strict";
  const view = document.querySelector('meta[name="remit-view"]')?.content;
  if (!view) return;
  const address = new URL("view", document.currentScript.src);
  const decisions = new URL("confirmations", address);
  const FIRST_MS = 500, MOST_MS = 5000;
  let over = false, left = false, tries = 0, stream = null;
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
    stream?.abort();
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

  function hear(part) {
    const event = /^event: (.*)$/m.exec(part)?.[1];
    if (!event) return;
    const data = JSON.parse(/^data: (.*)$/m.exec(part)[1]);
    if (event === "changed") say(`remit:${data.type}`);
    if (event === "handoffs") say("remit-handoffs");
    if (event === "waiting") show(data.count);
    if (event === "gone") end();
  }

  function end() {
    over = true;
    if (restored) location.reload();
    else say("remit-gone");
  }

  async function listen() {
    stream = new AbortController();
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ view, tab }),
      credentials: "same-origin",
      cache: "no-store",
      signal: stream.signal,
    });
    if (answer.status >= 400 && answer.status < 500) return end();
    if (!answer.ok) throw new Error(String(answer.status));
    tries = 0;
    restored = false;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = "", read = await reader.read(); !read.done; read = await reader.read()) {
      const parts = (text + read.value).split("\n\n");
      text = parts.pop();
      parts.forEach(hear);
    }
  }

  async function stay() {
    while (!over && !left) {
      try { await listen(); } catch { /* the connection is lost: try again */ }
      if (!over && !left) await new Promise((go) => setTimeout(go, Math.min(FIRST_MS * 2 ** tries++, MOST_MS)));
    }
  }

  const tab = nameOfTab();
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => {
    if (!event.persisted || !left) return;
    left = false;
    restored = true;
    try { sessionStorage["remit-tab-left"] = "no"; } catch { /* no store */ }
    stay();
  });
  document.body.addEventListener("htmx:configRequest", (event) => {
    const to = new URL(event.detail.path, location.href);
    if (to.origin === location.origin) event.detail.headers["Remit-View"] = view;
  });
  stay();
})();
