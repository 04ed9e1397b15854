// Times in UTC, or in the time zone of this browser: a cookie tells the server which.
const button = () => document.querySelector("[data-zone]");

// A clock time in the zone in which the page prints its times.
export function clockText(time) {
  const timeZone = button()?.dataset.zone ?? "UTC";
  return time.toLocaleTimeString("en-GB", { timeZone, timeZoneName: "short" });
}

export function startZone() {
  const toggle = button();
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!toggle || !own || (own === "UTC" && toggle.dataset.zone === "UTC")) return;
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const next = toggle.dataset.zone === "UTC" ? own : "UTC";
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `zone=${next}; path=/; max-age=31536000; samesite=lax${secure}`;
    location.reload();
  });
}
