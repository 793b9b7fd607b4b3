// The main process of an Electron app: data in the folder that Electron has for the app's user, before there is any window, and without one.
//
// Without Electron it does what it would do there, in a folder of its own.
import { tmpdir } from "node:os";
import { join } from "node:path";

import { close, open } from "larder-idb";

// The module "electron" is there in Electron's main process alone.
const electron = process.versions.electron === undefined ? undefined : await import("electron");
const { app } = electron ?? { app: { getPath: () => join(tmpdir(), "larder-idb-electron"), whenReady: async () => {}, once() {} } };

await app.whenReady();
// Beside the profile's own folder "IndexedDB", which Electron's windows have open, and which is theirs.
const indexedDB = open({ folder: join(app.getPath("userData"), "main-process"), origin: "app://main" });

function opened() {
  const request = indexedDB.open("settings", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("settings");
  return done(request);
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

const database = await opened();
const settings = (mode) => database.transaction("settings", mode).objectStore("settings");
const starts = ((await done(settings("readonly").get("starts"))) ?? 0) + 1;
await done(settings("readwrite").put(starts, "starts"));
console.log(`started ${starts} time${starts === 1 ? "" : "s"}`);

// What was committed is there after a crash as well; closing gives the folder free for the next start at once.
app.once("will-quit", () => close(indexedDB));
if (electron === undefined) await close(indexedDB);
