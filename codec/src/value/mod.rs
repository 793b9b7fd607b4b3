//! Values: Blink's envelope and V8's wire format.
