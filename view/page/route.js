// Where in the stores the page is: kept in the address, so that back, forward and reloading work.

const NUMBERS = ["store", "database", "objectStore", "index"];
const TEXTS = ["view", "key", "direction", "lower", "upper", "filter", "text", "kind", "ignoreCase"];
// An address that is longer is cut by some programs; a key that long is left out.
const TEXT_MAX = 4096;

export const changed = new EventTarget();
let current = {};

/** The place that an address names. */
export function read(hash = location.hash) {
  const place = {};
  const members = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of NUMBERS) if (/^\d{1,16}$/.test(members.get(name) ?? "")) place[name] = Number(members.get(name));
  for (const name of TEXTS) if (members.has(name)) place[name] = members.get(name);
  return place;
}

/** The address of a place. */
export function address(place) {
  const members = new URLSearchParams();
  for (const name of [...NUMBERS, ...TEXTS]) {
    const value = place[name];
    if (value !== undefined && value !== null && value !== "" && String(value).length <= TEXT_MAX)
      members.set(name, value);
  }
  return `#${members}`;
}

export const place = () => current;

const announce = (before, reason) =>
  changed.dispatchEvent(new CustomEvent("place", { detail: { before, now: current, reason } }));

/** Goes to a place. `replace` leaves no step for the way back. */
export function go(next, { replace = false } = {}) {
  const before = current;
  current = Object.fromEntries(
    Object.entries(next).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
  const url = address(current);
  if (url !== location.hash)
    history[replace ? "replaceState" : "pushState"](null, "", url === "#" ? location.pathname : url);
  announce(before, "go");
}

/** Changes some of the place. */
export const change = (members, options) => go({ ...current, ...members }, options);

/** Begins, at `first` if the address names no place, and follows back and forward. */
export function start(first) {
  const follow = () => {
    const before = current;
    current = read();
    announce(before, "address");
  };
  window.addEventListener("popstate", follow);
  if (Object.keys(read()).length > 0) follow();
  else go(first, { replace: true });
}
