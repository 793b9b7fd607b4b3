// The last script of each run: the app begins, and says when it is done.
self.fixture.runApp(...(self.adapter ? [self.adapter] : [])).then(() => console.log('done'));
