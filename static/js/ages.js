// Ages go on by themselves, by the server's clock. readmodels/ages.py says them the same way.
const MINUTE = 60, HOUR = 3600, DAY = 86400;

export function durationText(seconds) {
  const s = Math.max(Math.floor(seconds), 0);
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) return two(Math.floor(s / HOUR), "h", Math.floor((s % HOUR) / MINUTE), "min");
  if (s < 7 * DAY) return two(Math.floor(s / DAY), "d", Math.floor((s % DAY) / HOUR), "h");
  return `${Math.floor(s / DAY)} d`;
}

function two(large, largeUnit, small, smallUnit) {
  return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

export function startAges() {
  const made = document.querySelector("[data-made]");
  // The server's clock minus ours: a laptop that is minutes off must not invent ages.
  const offset = made ? Date.parse(made.dateTime) - performance.timeOrigin - performance.now() : 0;
  const start = offset + performance.timeOrigin;
  const tick = () => {
    const now = start + performance.now();
    for (const time of document.querySelectorAll("time[data-age]")) {
      const text = durationText((now - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll("time[data-due]")) {
      const left = (Date.parse(time.dateTime) - now) / 1000;
      const text = left > 0 ? `in ${durationText(left)}` : "over";
      if (time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(tick, 1000);
}
