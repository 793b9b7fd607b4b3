// The platforms that the package has a native file for. A platform's name is what `js/engine/native.js` asks for; `libc` is npm's name of a C library;
// `zig` is the target as `cargo zigbuild` takes it, with the oldest glibc that is needed.
export const GLIBC = "2.28";

export const PLATFORMS = [
  { name: "linux-x64-gnu", os: "linux", cpu: "x64", libc: "glibc", target: "x86_64-unknown-linux-gnu", zig: `x86_64-unknown-linux-gnu.${GLIBC}` },
  { name: "linux-x64-musl", os: "linux", cpu: "x64", libc: "musl", target: "x86_64-unknown-linux-musl" },
  { name: "linux-arm64-gnu", os: "linux", cpu: "arm64", libc: "glibc", target: "aarch64-unknown-linux-gnu", zig: `aarch64-unknown-linux-gnu.${GLIBC}` },
  { name: "linux-arm64-musl", os: "linux", cpu: "arm64", libc: "musl", target: "aarch64-unknown-linux-musl" },
  { name: "darwin-x64", os: "darwin", cpu: "x64", target: "x86_64-apple-darwin" },
  { name: "darwin-arm64", os: "darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
  { name: "win32-x64", os: "win32", cpu: "x64", target: "x86_64-pc-windows-msvc" },
];

export const nativeFile = (name) => `larder-idb.${name}.node`;
