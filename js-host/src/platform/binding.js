// This realm's binding (the room `binding`), its one factory, and what other modules of the host use of them.
import { createBinding } from "../binding/mod.js";
import { attach, INTERNAL, peek, stamp } from "../binding/slot.js";
import { native } from "./native.js";

// `reportError` comes when there is one.
export const host = {
  microtaskCheckpoint: native.microtaskCheckpoint,
  wantCheckpointCleanup: native.wantCheckpointCleanup,
  now: native.now,
  isProxy: native.isProxy,
  compare: native.engine.compare,
  keyToValue: native.engine.keyToValue,
};

const binding = createBinding({ global: globalThis, host });
const { indexedDB, link } = binding.createFactory(native.engine, native.serialize);

export { attach, INTERNAL, peek, stamp };
export const { webidl } = binding;
export const { apply, defineProperty, getOwnPropertyDescriptor, list } = binding.builtIns;
export const { checkConstructor, exposeGlobal, exposeInterface, requireArguments, stateOf } = binding.internals;
export const { createEvent, Event, EventState } = binding.event;
export const { defineHandlers, dispatch, EventTarget, EventTargetState } = binding.eventTarget;
export const { runCheckpointCleanup } = binding.checkpoint;
export const { changes } = binding.changes;
export const setChangeFeed = (name, isOn = true) => binding.changes.setChangeFeed(indexedDB, name, isOn);

export const expect = (answerer) => link.expect(answerer);
export const complete = (number, error, result) => link.complete(number, error, result);
export const notify = (number, kind, a, b, c, d, e) => link.notify(number, kind, a, b, c, d, e);
export const { releaseWhenCollected } = link;
export const install = (global, holder) => binding.install(global, holder, indexedDB);
