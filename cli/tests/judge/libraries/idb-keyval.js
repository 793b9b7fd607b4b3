// Settings and a to-do list on idb-keyval: keys and values of many types, in its default store and in one of its own.
(function () {
  'use strict';
  const { fixture } = self;
  const { clear, createStore, del, delMany, entries, get, getMany, keys, set, setMany, update, values } = self.idbKeyval;
  const same = (found, expected, what) => {
    const [a, b] = [found, expected].map((value) => JSON.stringify(value));
    if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
  };

  fixture.runApp = async function () {
    const todos = createStore('to-do', 'items');
    await setMany(Array.from({ length: 50 }, (_, i) => [['shelf', i], { text: `jar ${i} 🫙`, done: i % 2 === 0 }]), todos);
    await delMany([['shelf', 3], ['shelf', 4], ['shelf', 99]], todos);
    same((await keys(todos)).length, 48, 'keys');
    same(await getMany([['shelf', 5], ['shelf', 4]], todos), [{ text: 'jar 5 🫙', done: false }, undefined], 'many');
    await Promise.all(Array.from({ length: 25 }, (_, i) => update('count', (count = 0) => count + i)));
    same(await get('count'), 300, 'updates do not overtake each other');
    await set(new Date(0), new Map([[1, new Set(['a'])]]));
    await set(Uint8Array.of(1, 2), { big: -(2n ** 70n), pattern: /x/giu, floats: Float64Array.of(-0, NaN) });
    await set('blob', new Blob(['three', 'words'], { type: 'text/plain' }));
    await set('file', new File(['content'], 'ü.txt', { lastModified: 86400000 }));
    await set('lone', '\ud800');
    const loop = [new RangeError('too far')];
    loop.push(loop);
    await set('loop', loop);
    same(await (await get('blob')).text(), 'threewords', 'blob');
    const found = await get('loop');
    same([found[1] === found, found[0] instanceof RangeError, found[0].message], [true, true, 'too far'], 'loop');
    await set('not for long', 1);
    await del('not for long');
    same((await entries()).map(([key]) => typeof key), ['object', 'string', 'string', 'string', 'string', 'string', 'object'], 'entries');
    same((await values(todos)).length, 48, 'values');
    const name = await set('no', () => {}).then(() => 'stored', (error) => error.name);
    same(name, 'DataCloneError', 'a function');
    const emptied = createStore('emptied', 's');
    await set(1, 1, emptied);
    await clear(emptied);
    same(await keys(emptied), [], 'cleared');
    return 'idb-keyval';
  };
})();
