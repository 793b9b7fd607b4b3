// `Link`: one factory's way to its engine. What the engine has not answered yet is registered here, and nowhere else: factories of one
// realm have nothing to do with each other.
export function link(binding) {
  const { list, onCollected, OwnMap, setApart } = binding.builtIns;

  class Link {
    // By number. A place that is free has the number of the one that is free next.
    #waiting = list();
    #free = 0;
    #watching = new OwnMap();
    #last = 0;

    // `engine` and `serialize` are described in README.md.
    constructor(engine, serialize) {
      this.engine = engine;
      this.serialize = serialize;
      const onceCollected = onCollected((handle) => engine.release(handle));
      // Releases a handle of the engine's once script can no longer reach its object.
      this.releaseWhenCollected = (owner, handle) => {
        if (handle !== undefined) onceCollected(owner, handle);
      };
    }

    // The number under which the engine answers once: `answer(error, result)`, called from a task. Then another gets it.
    expect(answerer) {
      const waiting = this.#waiting;
      const number = this.#free;
      this.#free = number < waiting.length ? waiting[number] : number + 1;
      waiting[number] = answerer;
      return number;
    }

    // Frees the number of a request that the engine has answered or will not answer, and returns the answerer.
    settle(number) {
      const answerer = this.#waiting[number];
      this.#waiting[number] = this.#free;
      this.#free = number;
      return answerer;
    }

    // The engine's answer.
    complete(number, error, result) {
      this.settle(number).answer(error, result);
    }

    // Receivers of what can come more than once: the events of opening and deleting, and of connections. An event may come after its
    // receiver has gone, so a number is never used again: the event would reach another receiver.
    watch(watcher) {
      this.#last += 1;
      this.#watching.set(this.#last, watcher);
      return this.#last;
    }

    unwatch(number) {
      this.#watching.delete(number);
    }

    notify(number, kind, a, b, c, d, e) {
      this.#watching.get(number)?.notify(kind, a, b, c, d, e);
    }
  }
  setApart(Link);

  return { Link };
}
