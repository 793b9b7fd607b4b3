// Notes in Dexie and in PouchDB, changed from one run to the next: what the change feed says of it is compared with what is there.
(function () {
  'use strict';
  const { fixture } = self;

  // SplitMix32: choices that a seed makes again. The seed is how many notes there are, so each run changes something else.
  function chooser(seed) {
    let state = seed >>> 0;
    return (end) => {
      state = (state + 0x9e3779b9) >>> 0;
      let mixed = state;
      mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
      return ((mixed ^ (mixed >>> 15)) >>> 0) % end;
    };
  }

  async function dexie() {
    const db = new Dexie('notes');
    db.version(1).stores({ notes: '++id, title, *tags', settings: '' });
    const choose = chooser(await db.notes.count());
    for (let turn = 0; turn < 40; turn += 1) {
      const note = { title: `note ${choose(20)}`, tags: [`t${choose(4)}`], at: new Date(choose(1e9)), blob: new Blob([String(turn)]) };
      switch (choose(6)) {
        case 0:
          await db.notes.bulkAdd([note, { ...note, title: 'twice' }]);
          break;
        case 1:
          await db.notes.where('title').below('note 15').modify((found) => { found.seen = (found.seen ?? 0) + 1; });
          break;
        case 2:
          await db.notes.where('tags').equals('t1').delete();
          break;
        case 3:
          await db.transaction('rw', db.notes, db.settings, async () => {
            await db.settings.put(choose(100), 'size');
            await db.notes.add(note);
            throw new Error('not this time');
          }).catch(() => {});
          break;
        case 4:
          await db.settings.put(note.title, 'last');
          break;
        default:
          await db.notes.put(note);
      }
    }
    db.close();
  }

  async function pouchdb(adapter) {
    const db = new PouchDB('notes', { adapter, auto_compaction: true });
    const choose = chooser((await db.info()).doc_count);
    for (let turn = 0; turn < 40; turn += 1) {
      const id = `note ${choose(8)}`;
      const found = await db.get(id).catch(() => undefined);
      if (found !== undefined && choose(4) === 0) await db.remove(found);
      else await db.put({ ...found, _id: id, turn, _attachments: { text: { content_type: 'text/plain', data: new Blob([String(turn)]) } } });
    }
    await db.close();
  }

  fixture.runApp = async function (adapter) {
    await (adapter === undefined ? dexie() : pouchdb(adapter));
  };
})();
