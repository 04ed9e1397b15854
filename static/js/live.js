// The waiting request: asks again after each answer, puts news into the page without moving
// what is the same, and says loudly when the server does not answer.
const ASK_AGAIN = 50; // milliseconds, and up to SPREAD more: all pages hear of a change at once
const SPREAD = 250;
const SLOWEST = 10_000;
const ANNOUNCE_EVERY = 10_000;

const state = { paused: false, failures: 0, timer: 0, lostSince: null, announced: 0, news: 0 };

const element = (id) => document.getElementById(id);

function tabId() {
  try {
    let id = sessionStorage.getItem("tab");
    if (!id) sessionStorage.setItem("tab", (id = Math.random().toString(36).slice(2)));
    return id;
  } catch {
    return Math.random().toString(36).slice(2);
  }
}

export function startLive() {
  const tab = tabId();
  htmx.defineExtension("live", {
    handleSwap: (style, target, fragment) => (style === "live" ? swap(target, fragment) : false),
  });
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.headers["X-Tab"] = tab;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isLive(event) && (state.paused || document.hidden)) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (isLive(event)) answered(event.detail);
    else if (event.detail.failed) lost();
    else if (event.detail.successful) found();
  });
  // Other filters bring an element of their own.
  document.addEventListener("htmx:load", (event) => event.detail.elt.querySelector("#live") && ask(0));
  document.addEventListener("visibilitychange", () => document.hidden || ask(0));
  startPause();
  ask(0);
}

// The element that asked: when it was replaced meanwhile, htmx tells the event to its parent.
const isLive = ({ detail }) => (detail.requestConfig?.elt ?? detail.elt).id === "live";

function answered({ xhr, successful }) {
  if (successful) {
    state.failures = 0;
    found();
    ask((Number(xhr.getResponseHeader("X-Live-Again")) || 0) * 1000);
    return;
  }
  if (state.paused || document.hidden) return;
  state.failures += 1;
  if (state.failures > 1) lost();
  ask(Math.min(500 * 2 ** state.failures, SLOWEST));
}

function ask(wait) {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    const live = element("live");
    if (live) htmx.trigger(live, "again");
  }, wait + ASK_AGAIN + Math.random() * SPREAD);
}

function lost() {
  state.lostSince ??= new Date();
  const banner = element("connection");
  if (!banner) return;
  const since = state.lostSince.toLocaleTimeString();
  banner.textContent = `gangboard has not answered since ${since}. What you see is from before; it asks again by itself.`;
  banner.hidden = false;
  say("no answer");
}

function found() {
  if (!state.lostSince) return;
  state.lostSince = null;
  element("connection").hidden = true;
  say(state.paused ? "paused" : "live");
}

function say(text) {
  const label = element("live-state");
  if (label && label.textContent !== text) label.textContent = text;
}

function startPause() {
  const button = element("pause");
  if (!button || !element("live")) return;
  button.closest(".live-controls").hidden = false;
  say("live");
  button.addEventListener("click", () => {
    state.paused = !state.paused;
    button.setAttribute("aria-pressed", String(state.paused));
    button.textContent = state.paused ? "Go on" : "Pause";
    say(state.paused ? `paused at ${new Date().toLocaleTimeString()}` : "live");
    if (state.paused) htmx.trigger(element("live"), "htmx:abort");
    else ask(0);
  });
}

// --- putting news into the page

function swap(live, fragment) {
  // The page has moved on to other filters while this answer was on its way.
  if (!live.isConnected || state.paused) return [];
  const focus = keepFocus();
  const added = [];
  for (const template of fragment.querySelectorAll("template[data-part]"))
    added.push(...replace(template));
  for (const template of fragment.querySelectorAll("template[data-rows]"))
    added.push(...putRows(template));
  const next = fragment.querySelector("#live");
  live.replaceWith(next);
  focus();
  announce(added.length);
  return [...added, next];
}

function replace(template) {
  const old = element(template.dataset.part);
  const fresh = template.content.firstElementChild;
  if (!old || !fresh) return [];
  for (const details of old.querySelectorAll("details[open]"))
    fresh.querySelector("details")?.setAttribute("open", details.getAttribute("open"));
  old.replaceWith(fresh);
  return [fresh];
}

function putRows(template) {
  const parent = element(template.dataset.rows);
  if (!parent) return [];
  const fresh = [...template.content.children];
  for (const row of fresh) {
    const old = element(row.id);
    if (old) old.replaceWith(row);
    else parent.append(row);
  }
  if (template.dataset.order !== undefined) order(parent, template.dataset.order.split(" "));
  return fresh;
}

function order(parent, ids) {
  const wanted = new Set(ids);
  for (const row of [...parent.children]) if (!wanted.has(row.id)) row.remove();
  let place = parent.firstElementChild;
  for (const id of ids) {
    const row = element(id);
    if (!row) continue;
    // A row that went down is taken out of the way; otherwise all after it would move.
    if (place && row === place.nextElementSibling && row !== place) {
      const down = place;
      place = row;
      parent.append(down);
    }
    if (row === place) place = row.nextElementSibling;
    else parent.insertBefore(row, place);
  }
}

function keepFocus() {
  const active = document.activeElement;
  if (!active || active === document.body) return () => {};
  const row = active.closest("[id]");
  const id = row?.id;
  const within = row && row !== active ? [...row.querySelectorAll("a, button, summary")].indexOf(active) : -1;
  return () => {
    if (document.activeElement === active && active.isConnected) return;
    const again = active.isConnected ? active : id && element(id);
    const target = again && within >= 0 && again !== active ? again.querySelectorAll("a, button, summary")[within] : again;
    target?.focus({ preventScroll: true });
  };
}

function announce(changes) {
  state.news += changes;
  const now = Date.now();
  if (!state.news || now - state.announced < ANNOUNCE_EVERY) return;
  state.announced = now;
  element("announcer").textContent = `${state.news} ${state.news === 1 ? "part" : "parts"} of the page changed`;
  state.news = 0;
}
