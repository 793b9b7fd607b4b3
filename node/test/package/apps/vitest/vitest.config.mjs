export default { test: { setupFiles: ["larder-idb/auto"], globals: true } };
