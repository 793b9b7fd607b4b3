// What comes from other realms.
import { broadcast } from "./broadcast_channel.js";
import { fromWorkers } from "./dedicated_worker.js";
import { toPort } from "./message_channel.js";
import { fromParent } from "./worker.js";

const kinds = { __proto__: null, ...fromWorkers, broadcast, fromParent, toPort };

// Hands over what has come: its kind, its target and its content.
export function receive(kind, target, ...what) {
  kinds[kind](target, ...what);
}
