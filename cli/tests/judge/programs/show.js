// Values, keys and errors as text: what differs for a script differs here, but for messages and stacks of exceptions.
'use strict';

const quoted = (string) => JSON.stringify(string);
const numberText = (number) => (Object.is(number, -0) ? '-0' : String(number));

function nameOf(error) {
  const kind = error instanceof DOMException ? 'DOMException' : error instanceof Error ? 'Error' : typeof error;
  return kind === 'DOMException' ? error.name : `${kind} ${error === null || error === undefined ? error : error.name}`;
}

function bytesText(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Objects are numbered by their first visit, so cycles and sharing show.
function show(value, seen = new Map()) {
  switch (typeof value) {
    case 'string': return quoted(value);
    case 'number': return numberText(value);
    case 'bigint': return `${value}n`;
    case 'object': break;
    default: return String(value);
  }
  if (value === null) return 'null';
  if (seen.has(value)) return `#${seen.get(value)}`;
  seen.set(value, seen.size);
  const inner = (part) => show(part, seen);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (ArrayBuffer.isView(value)) return `${tag}(${value.byteOffset}, ${value.byteLength} of ${inner(value.buffer)})`;
  switch (tag) {
    case 'Array': return `[${value.length}:${properties(value, inner)}]`;
    case 'Object': return `{${properties(value, inner)}}`;
    case 'Date': return `Date(${value.getTime()})`;
    case 'RegExp': return String(value);
    case 'Map': return `Map{${Array.from(value, ([key, entry]) => `${inner(key)} => ${inner(entry)}`).join(', ')}}`;
    case 'Set': return `Set{${Array.from(value, inner).join(', ')}}`;
    case 'ArrayBuffer': return `ArrayBuffer(${bytesText(value)})`;
    case 'Error': return `${Object.getPrototypeOf(value).name}(${quoted(value.message)}, ${properties(value, inner, ['cause'])})`;
    case 'Boolean': case 'Number': case 'String': case 'BigInt': return `Object(${show(value.valueOf())})`;
    case 'Blob': case 'File': return `${tag}(${value.size}, ${quoted(value.type)}, ${value.name})`;
    case 'IDBKeyRange': return `Range(${inner(value.lower)}, ${inner(value.upper)}, ${value.lowerOpen}, ${value.upperOpen})`;
    case 'IDBRecord': return `Record(${inner(value.key)}, ${inner(value.primaryKey)}, ${inner(value.value)})`;
    case 'IDBCursor': return `${tag}(${inner(value.key)}, ${inner(value.primaryKey)})`;
    case 'IDBCursorWithValue': return `${tag}(${inner(value.key)}, ${inner(value.primaryKey)}, ${inner(value.value)})`;
    case 'DOMException': return `DOMException ${value.name}`;
    default: return tag;
  }
}

function properties(value, inner, names = Object.keys(value)) {
  const own = names.filter((name) => Object.hasOwn(value, name));
  return own.map((name) => `${quoted(name)}: ${inner(value[name])}`).join(', ');
}
