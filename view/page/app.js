// The page: what is shown at each place, and what happens when the files change.
import { takeToken } from "./api.js";
import { byId, fill, h } from "./dom.js";
import { sayIn, showPanel, startPanels, startSplitter, startTheme } from "./frame.js";
import { backButton } from "./heading.js";
import { startHelp } from "./help.js";
import { Live } from "./live.js";
import { events, find, loadStores, lookUp, model, openStore } from "./model.js";
import { DatabaseView } from "./database-view.js";
import { StoreView, StoresView } from "./overview.js";
import { Places } from "./places.js";
import { RecordView } from "./record-view.js";
import { changed, go, place, start } from "./route.js";
import { SearchView } from "./search.js";
import { TableView } from "./table-view.js";
import { nameLabel } from "./text.js";

const middle = byId("middle");
let record;
let current = null;
let showing = 0;

/** All of a place but its record. */
const viewName = ({ key, ...rest }) => JSON.stringify(Object.entries(rest).sort());
const recordOf = (now) => ({
  store: now.store,
  database: now.database,
  objectStore: now.objectStore,
  primaryKey: now.key,
});

/** Shows the place of the address. Going to another record of a table leaves the table as it is. */
async function show({ before, now, reason }) {
  const isOther = !current || viewName(before) !== viewName(now);
  document.body.classList.toggle(
    "without-record",
    now.view !== "search" && (now.objectStore === undefined || now.view === "hidden"),
  );
  if (isOther) await showMiddle(now);
  if (now.objectStore === undefined || now.view !== undefined) {
    if (isOther) record.empty(now.view === "search" ? "Choose a place to see its record." : undefined);
  } else if (!now.key) record.empty();
  else if (reason === "address" || isOther) {
    record.show(recordOf(now));
    if (!isOther) current?.lookAt?.(now.key);
  }
  if (reason === "address" && now.key) showPanel("detail");
  else if (reason === "address" && now.objectStore !== undefined) showPanel("middle");
  document.title = titleOf(now);
}

async function showMiddle(now) {
  const turn = ++showing;
  current?.end();
  current = null;
  if (now.view === "search") {
    current = new SearchView(middle, now, openHit);
  } else if (now.store === undefined) {
    current = new StoresView(middle);
  } else {
    sayIn(middle, "Opening…");
    const found = await find(now).catch((error) => error);
    if (turn !== showing) return;
    current = found instanceof Error ? failed(now, found) : viewOf(now, found);
  }
  showPanel("middle");
}

function failed(now, error) {
  fill(
    middle,
    backButton("places", "Stores"),
    h(
      "div",
      { class: "empty bad", role: "alert" },
      h("p", {}, `This store cannot be opened: ${error.message}`),
      h("button", { type: "button", onclick: () => go(place(), { replace: true }) }, "Try again"),
    ),
  );
  return null;
}

function viewOf(now, found) {
  if (now.database === undefined) return new StoreView(middle, now);
  if (
    !found.database ||
    (now.objectStore !== undefined && !found.objectStore) ||
    (now.index !== undefined && !found.index)
  ) {
    fill(middle, backButton("places", "Stores"), h("p", { class: "empty" }, "This is not in the store any more."));
    return null;
  }
  if (now.objectStore === undefined) return new DatabaseView(middle, now);
  return new TableView(middle, now, found, {
    showRecord: (row) => later(() => record.show({ ...recordOf(now), primaryKey: row.primaryKeyHex })),
    openRecord: (row) => {
      clearTimeout(waiting);
      showPanel("detail");
      record.open({ ...recordOf(now), primaryKey: row.primaryKeyHex });
    },
  });
}

/** While the arrow keys run through rows, only the last one is asked for. */
let waiting;
function later(work) {
  clearTimeout(waiting);
  waiting = setTimeout(work, 60);
}

function openHit(hit) {
  const { store, database, objectStore, primaryKeyHex } = hit;
  record.show(
    { store, database, objectStore, primaryKey: primaryKeyHex },
    { at: hit.place, toTable: { store, database, objectStore, key: primaryKeyHex } },
  );
  showPanel("detail");
}

/** A version that pages do not see has no address. */
function openVersion(where) {
  document.body.classList.remove("without-record");
  record.show(where);
  showPanel("detail");
}

function titleOf(now) {
  if (now.view === "search") return `${now.text ?? "Search"} – Larder`;
  const { database, objectStore } = lookUp(now);
  const names = [objectStore?.name, database?.name].filter((name) => name !== undefined).map(nameLabel);
  if (now.store !== undefined) names.push(model.stores.get(now.store)?.info.origin);
  return [...names, "Larder"].join(" – ");
}

/** A store's files have changed: what is seen of it is asked for again. */
async function renew(store) {
  await openStore(store, { fresh: true }).catch(() => {});
  const now = place();
  if (now.store === store && now.view !== "search") {
    current?.renew();
    if (now.key) record.renew();
  }
}

function startSearchField() {
  const field = byId("search-text");
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() !== "") go({ view: "search", text: field.value });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || !(current instanceof SearchView)) return;
    event.preventDefault();
    current.focus();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest('input, textarea, select, dialog, [role="tree"]');
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
  document.querySelector(".brand").addEventListener("click", (event) => {
    event.preventDefault();
    go({});
  });
}

/** Where the page begins when its address does not say: what there is only one of is opened at once. */
async function firstPlace(places) {
  if (model.stores.size !== 1) return {};
  const [store] = model.stores.keys();
  const { databases } = await openStore(store);
  if (databases.length !== 1) return { store };
  const [database] = databases;
  places.expand("database", { store, database: database.id });
  if (database.count !== 1) return { store };
  return { store, database: database.id, objectStore: database.objectStores[0].id };
}

async function run() {
  startTheme();
  startPanels();
  startHelp();
  startSearchField();
  startSplitter("split-places", "places", { first: 280, min: 160, max: 640 });
  startSplitter("split-detail", "detail", { first: 500, min: 240, max: 1000, fromEnd: true });
  record = new RecordView(byId("detail"));
  if (!(await takeToken())) {
    sayIn(
      middle,
      "This page needs the whole address that “larder view” has printed, with what stands behind the #.",
      true,
    );
    showPanel("middle");
    return;
  }
  sayIn(middle, "Looking for stores…");
  new Live(renew);
  try {
    await loadStores();
  } catch (error) {
    sayIn(middle, `The stores cannot be listed: ${error.message}`, true);
    showPanel("middle");
    return;
  }
  const places = new Places(byId("places"));
  let turn = Promise.resolve();
  changed.addEventListener("place", ({ detail }) => {
    turn = turn.then(() => show(detail)).catch((error) => sayIn(middle, error.message, true));
  });
  events.addEventListener("counts", () => current?.counted?.());
  events.addEventListener("version", ({ detail }) => openVersion(detail));
  events.addEventListener("inUse", ({ detail }) => {
    if (detail === place().store) current?.redraw?.();
  });
  sayIn(middle, "Opening…");
  // A store that cannot be opened says so when it is chosen.
  start(await firstPlace(places).catch(() => ({})));
  places.reveal();
}

run();
