// Transactions that script has made in the current task: they turn inactive at the end of the microtask checkpoint (HTML, "clean up
// Indexed Database transactions"). That is a realm's affair, whatever factories it has.
export function checkpoint(binding) {
  const { list } = binding.builtIns;
  const { host } = binding;
  const cleanups = list();

  function atEndOfCheckpoint(transaction) {
    cleanups[cleanups.length] = transaction;
    host.wantCheckpointCleanup();
  }

  function runCheckpointCleanup() {
    for (let i = 0; i < cleanups.length; i++) cleanups[i].deactivateAfterCreation();
    cleanups.length = 0;
  }

  return { atEndOfCheckpoint, runCheckpointCleanup };
}
