// The golden stores of `fixtures/`, and what their browsers said is in them.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { unpack } from "../../../fixtures/generate/manifest.mjs";
import { ROOT, temporary } from "./larder.mjs";

const FIXTURES = path.join(ROOT, "fixtures");
const { fixtures } = JSON.parse(fs.readFileSync(path.join(FIXTURES, "MANIFEST.json"), "utf8"));

export const all = fixtures;

/** The folder of a store, laid out with the times that its files had: Chromium 64 to 82 take a File's `lastModified` from there. */
export function folderOf(t, name) {
  const folder = path.join(temporary(t), name);
  unpack(name, folder);
  return folder;
}

/** What the page of its browser said. */
export function expected(name) {
  const fixture = fixtures.find((each) => each.name === name);
  if (!fixture.expected) return null;
  const bytes = fs.readFileSync(
    path.join(FIXTURES, typeof fixture.expected === "string" ? fixture.expected : fixture.expected.path),
  );
  return JSON.parse(zlib.gunzipSync(bytes).toString("utf8"));
}

/** An object store of an expectation. */
export const storeOf = (document, database, objectStore) =>
  document.databases.find(({ name }) => name === database).stores.find(({ name }) => name === objectStore);
