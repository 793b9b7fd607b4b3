// What stands in for Blobs, Files and the tokens of handles that lie beside a value.

export class Beside {
  constructor(object) {
    Object.assign(this, object);
  }
  get [Symbol.toStringTag]() {
    return this.name === undefined ? "Blob" : "File";
  }
}

export const describe = (object) => (object instanceof Beside ? { class: object[Symbol.toStringTag] } : undefined);

export function beside(objects) {
  return {
    blobs: objects.filter((object) => object.token === undefined).map((object) => new Beside(object)),
    tokens: objects.filter((object) => object.token !== undefined).map((object) => Uint8Array.from(object.token)),
  };
}

// As many of each as a value may refer to, for values of no record; all are Files if a name is given.
export const plenty = (name) => beside(Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? { type: "", size: at, name } : { token: [at] })));
