// Keeps a page of the dashboard fresh, and its tables comfortable. All of it works without this file, too.
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const remembered = {
    get: (key, otherwise) => { try { return localStorage.getItem(key) ?? otherwise; } catch { return otherwise; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* then it is forgotten */ } },
  };

  // Times in words, "3m ago" or "3m", again and again. The server's clock is the one they are told by.
  const root = byId("aj");
  const ahead = root ? 1000 * Number(root.dataset.now) - Date.now() : 0;
  const language = document.documentElement.lang || undefined;
  const ago = new Intl.RelativeTimeFormat(language, { style: "narrow" });
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const lengths = Object.fromEntries(UNITS.map(([unit]) => [unit, new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow" })]));
  function inWords(seconds, kind) {
    const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
    const count = Math.trunc(seconds / size);
    return kind === "since" ? lengths[unit].format(Math.max(-count, 0)) : ago.format(count || -0, unit);
  }
  function sayTimes() {
    const now = Date.now() + ahead;
    for (const time of document.querySelectorAll("time[data-aj-time]")) {
      if (!time.title) time.title = `${exact.format(new Date(time.dateTime))} (${time.textContent})`;
      const text = inWords((Date.parse(time.dateTime) - now) / 1000, time.dataset.ajTime);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // One poll after the other, while somebody looks and has not paused it.
  const poll = byId("aj-poll");
  const box = byId("aj-live");
  if (poll && box && window.htmx) {
    const state = byId("aj-live-state");
    const said = byId("aj-live-said");
    const toggle = byId("aj-live-toggle");
    const every = 1000 * Number(box.dataset.every);
    const parts = new Map();
    let mode = "fresh";
    let paused = remembered.get("aj-paused") === "1";
    let wait = every;
    let updated = Date.now();
    let lost = false;
    let isPressed = false;
    let timer = 0;

    // What a reader of screens is told is that it changed, and not what every second brings.
    const show = () => {
      const now = paused ? "paused" : lost ? "lost" : "fresh";
      toggle.textContent = paused ? toggle.dataset.resume : toggle.dataset.pause;
      box.dataset.mode = now;
      const text = now === "fresh" ? `${box.dataset.fresh} ${inWords((updated - Date.now()) / 1000)}` : box.dataset[now];
      if (state.textContent !== text) state.textContent = text;
      if (mode !== now) said.textContent = box.dataset[now];
      mode = now;
    };
    const isBusy = () => isPressed || document.hidden || document.querySelector("dialog[open]") || String(getSelection());
    const plan = () => { clearTimeout(timer); timer = setTimeout(tick, wait); };
    const tick = () => {
      if (!paused && !isBusy()) poll.dispatchEvent(new Event("aj:tick"));
      plan();
    };

    // Nothing changes under a finger that is down; and what came again as it was stays as it is, with its focus.
    for (const [name, pressed] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]])
      document.addEventListener(name, () => { isPressed = pressed; }, true);
    document.addEventListener("htmx:beforeSwap", (event) => {
      if (event.target === poll && isBusy()) event.preventDefault();
    });
    document.addEventListener("htmx:oobBeforeSwap", (event) => {
      const part = event.detail.fragment.firstElementChild;
      if (part?.id !== event.detail.target.id || part.id === "aj-rev") return;
      if (parts.get(part.id) === part.outerHTML) event.detail.shouldSwap = false;
      parts.set(part.id, part.outerHTML);
    });
    poll.addEventListener("htmx:afterRequest", (event) => {
      lost = !event.detail.successful;
      wait = lost ? Math.min(wait * 2, 60000) : every;
      if (!lost) updated = Date.now();
      show();
      plan();
    });
    toggle.addEventListener("click", () => {
      paused = !paused;
      remembered.set("aj-paused", paused ? "1" : "0");
      show();
      if (!paused) tick();
    });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
    box.hidden = false;
    setInterval(show, 1000);
    show();
    plan();
  }

  // Rows: all of the page, and from one to another with Shift.
  let last = null;
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("input[data-aj-row]");
    if (!box) return;
    const rows = [...document.querySelectorAll("input[data-aj-row]")];
    if (event.shiftKey && last) {
      const [from, to] = [rows.indexOf(last), rows.indexOf(box)].sort((a, b) => a - b);
      for (const row of rows.slice(from, to + 1)) row.checked = box.checked;
    }
    last = box;
    count();
  });
  document.addEventListener("change", (event) => {
    const all = event.target.closest?.("input[data-aj-all]");
    if (all) for (const row of document.querySelectorAll("input[data-aj-row]")) row.checked = all.checked;
    if (all || event.target.closest?.("input[data-aj-matching]")) count();
  });
  function count() {
    const rows = [...document.querySelectorAll("input[data-aj-row]")];
    const chosen = rows.filter((row) => row.checked).length;
    for (const all of document.querySelectorAll("input[data-aj-all]")) {
      all.checked = chosen > 0 && chosen === rows.length;
      all.indeterminate = chosen > 0 && chosen < rows.length;
    }
    const matching = document.querySelector("input[data-aj-matching]:checked");
    for (const said of document.querySelectorAll("[data-aj-chosen]")) said.textContent = matching?.dataset.ajMatching ?? String(chosen);
    for (const bar of document.querySelectorAll("[data-aj-bar]")) bar.classList.toggle("aj-has-choice", Boolean(matching) || chosen > 0);
  }

  // Escape closes what was opened to ask or to fill in, and leads back to what opened it.
  document.addEventListener("keydown", (event) => {
    const panel = event.key === "Escape" && event.target.closest?.("details[open]:is(.aj-ask, .aj-more)");
    if (!panel) return;
    panel.open = false;
    panel.querySelector("summary").focus();
  });

  // Where the statuses do not fit side by side, the one that is looked at is in sight.
  const current = document.querySelector(".aj-statuses [aria-current]");
  if (current) {
    const strip = current.closest("ul");
    strip.scrollLeft += current.getBoundingClientRect().right - strip.getBoundingClientRect().right;
  }

  // Copying, also where the page came by plain http.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-aj-copy]");
    if (!button) return;
    const source = byId(button.dataset.ajCopy);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
      getSelection().removeAllRanges();
    }
    button.classList.add("aj-copied");
    setTimeout(() => button.classList.remove("aj-copied"), 1500);
  });

  // Whatever brings times into the page, they are words before anybody sees them.
  if (root) new MutationObserver(sayTimes).observe(root, { childList: true, subtree: true });
  setInterval(sayTimes, 1000);
  sayTimes();
  count();
})();
