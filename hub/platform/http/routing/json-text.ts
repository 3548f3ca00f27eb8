/**
 * Parses JSON that a stranger sent.
 * @throws SyntaxError for what is none, and for an object with the key `__proto__`, however it is spelled: no field of ours has that name, and copied
 * further in it would change what an object is.
 */
export function parseJsonText(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  // Only a text with either can hold the key.
  if ((text.includes('__proto__') || text.includes('\\u')) && hasPrototypeKey(value))
    throw new SyntaxError('the key __proto__ is not allowed');
  return value;
}

function hasPrototypeKey(root: unknown): boolean {
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && Object.hasOwn(value, '__proto__')) return true;
    for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) open.push(item);
  }
  return false;
}

/** Bytes of heap for each character of JSON that begins or separates values, beside the text itself. */
const heapPerCharacter = new Uint8Array(256);
for (const [character, bytes] of Object.entries({ '{': 56, '[': 48, ':': 48, ',': 16, '"': 12 }))
  heapPerCharacter[character.charCodeAt(0)] = bytes;

/** Estimates the heap that JSON uses while it is parsed and validated, in bytes: 4 for each byte of long strings, up to 48 for empty objects. */
export function heapOfJson(text: Uint8Array): number {
  let bytes = 2 * text.length;
  for (let index = 0; index < text.length; index += 1) bytes += heapPerCharacter[text[index] as number] as number;
  // Validation makes a copy.
  return 2 * bytes;
}
