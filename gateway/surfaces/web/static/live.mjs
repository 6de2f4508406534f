// Keeps a page fresh: fetches it again after the ledger has grown, at most once a second.
const EVERY_MS = 1000;
const mark = document.querySelector("nav .live");
let due = null;

async function refresh() {
  due = null;
  const answer = await fetch(location.href, { cache: "no-store" });
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const alerts = (page) => page.querySelectorAll("[role=alert]").length;
  if (!answer.ok || answer.redirected || alerts(next) !== alerts(document)) {
    location.reload(); // signed out, or a kill began or ended: show the whole page
    return;
  }
  document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
}

function count() {
  for (const place of document.querySelectorAll("[data-until-us]")) {
    const left = Math.max(0, Math.floor(place.dataset.untilUs / 1e6 - Date.now() / 1000));
    const rest = [Math.floor(left / 60) % 60, left % 60].map((n) => String(n).padStart(2, "0"));
    const hours = Math.floor(left / 3600);
    place.textContent = (hours ? [hours, ...rest] : [Number(rest[0]), rest[1]]).join(":");
  }
}
setInterval(count, EVERY_MS);

const changes = new EventSource("/live");
changes.addEventListener("changed", () => {
  due ??= setTimeout(() => refresh().catch(() => mark?.classList.add("lost")), EVERY_MS);
});
changes.addEventListener("open", () => mark?.classList.remove("lost"));
changes.addEventListener("error", () => mark?.classList.add("lost"));
