// What is wrong with stores, as far as it has come to light: on opening, and by the checks that have been run.
import { events, model } from "./model.js";

const found = new Map();

/** The check of a store: its findings so far, and how it ended. */
export function checkOf(store) {
  if (!found.has(store)) found.set(store, { findings: [], done: null });
  return found.get(store);
}

/** Says that something is known now that was not. */
export const announceProblems = () => events.dispatchEvent(new Event("problems"));

/** What opening the store has said. */
export function openingProblems(store) {
  const opened = model.stores.get(store)?.opened;
  if (!opened) return [];
  return [opened.damage, ...opened.problems].filter(Boolean);
}

/** How many problems are known of a store. */
export function problemCount(store) {
  const { findings } = checkOf(store);
  return findings.length > 0 ? findings.length : openingProblems(store).length;
}
