// console.table (Console, 1.1.7): rows and columns of text; null for what is no table.
import { inspect } from "./inspect.js";

const INDEX = "(index)";
const VALUES = "Values";

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

// The rows of the data, each with its name.
function rowsOf(data) {
  if (data instanceof Map) return [...data].map(([key, value], i) => [String(i), { Key: key, [VALUES]: value }]);
  if (data instanceof Set) return [...data].map((value, i) => [String(i), value]);
  return Object.keys(data).map((key) => [key, data[key]]);
}

const width = (text) => [...text].length;

function drawn(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => width(row[column]))) + 2);
  const bar = (left, middle, right) => left + widths.map((length) => "─".repeat(length)).join(middle) + right;
  const line = (row) => `│${row.map((cell, column) => ` ${cell}`.padEnd(widths[column] + cell.length + 1 - width(` ${cell}`))).join("│")}│`;
  const [head, ...rows] = table;
  return [bar("┌", "┬", "┐"), line(head), bar("├", "┼", "┤"), ...rows.map(line), bar("└", "┴", "┘")].join("\n");
}

export function table(data, columns) {
  if (!isObject(data)) return null;
  const rows = rowsOf(data);
  const names = new Set(columns);
  if (columns === undefined) for (const [, row] of rows) if (isObject(row)) for (const key of Object.keys(row)) names.add(key);
  const hasValues = columns === undefined && rows.some(([, row]) => !isObject(row));
  const cell = (row, name) => (isObject(row) && Object.hasOwn(row, name) ? inspect(row[name]) : "");
  const head = [INDEX, ...names, ...(hasValues ? [VALUES] : [])];
  const body = rows.map(([key, row]) => {
    const cells = [...names].map((name) => cell(row, name));
    return [key, ...cells, ...(hasValues ? [isObject(row) ? "" : inspect(row)] : [])];
  });
  // A line break would tear the table.
  return drawn([head, ...body].map((row) => row.map((text) => text.replace(/\n/g, " "))));
}
