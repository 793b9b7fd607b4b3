// What a value asks of those that read it: versions of V8's and Blink's formats, each as one number (Blink's times 256, plus V8's).
// docs/format/values.md, part 6, says what needs which, and why.

export const version = (v8, blink) => blink * 256 + v8;
export const v8Of = (version) => version & 255;
export const blinkOf = (version) => version >> 8;

// The least versions in which anything is written, the usual ones, which Chromium 110 and later read, and the greatest known.
export const LEAST = version(13, 17);
export const USUAL = version(15, 21);
export const GREATEST = version(16, 21);
// Views have flags from here on.
export const VIEW_FLAGS_V8_MIN = 14;

const both = (pick, a, b) => version(pick(v8Of(a), v8Of(b)), pick(blinkOf(a), blinkOf(b)));
export const greater = (a, b) => both(Math.max, a, b);
export const lesser = (a, b) => both(Math.min, a, b);
// Whether a store or reader of one version has a form for what needs another.
export const fits = (needed, given) => v8Of(given) >= v8Of(needed) && blinkOf(given) >= blinkOf(needed);
