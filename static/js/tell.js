// "Notify in this browser": its notification when the gang runs, while a page of the gang is open in some tab.
const NEWS = { running: "runs", succeeded: "has succeeded", failed: "has failed" };
const button = () => document.querySelector("[data-tell]");
const health = () => document.getElementById("verdict")?.dataset.health ?? "";
let told = false;

// A page that is not seen asks for news all the same while somebody waits for them.
export const isToldWhenHidden = () => told;

function show() {
  const ask = button();
  if (!ask) return;
  ask.hidden = !told && health() in NEWS;
  ask.textContent = told ? "This browser will notify you" : "Notify in this browser";
}

function tell() {
  const news = NEWS[health()];
  if (told && news) {
    told = false;
    new Notification(`${button()?.dataset.tell ?? "The gang"} ${news}`, { tag: location.pathname });
  }
  show();
}

export function startTelling() {
  if (!button() || !("Notification" in window)) return;
  document.addEventListener("click", async (event) => {
    const ask = event.target.closest("[data-tell]");
    if (!ask) return;
    if (!told && (await Notification.requestPermission()) !== "granted") {
      ask.textContent = "This browser does not allow notifications";
      return;
    }
    told = !told;
    show();
  });
  document.addEventListener("htmx:load", tell);
  show();
}
