/**
 * Parses JSON from an untrusted source.
 * @throws SyntaxError for invalid JSON, and for an object with the key `__proto__`, also when it is escaped. Code that
 * copies this key would change the prototype of an object.
 */
export function parseJsonText(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  // Only a text with one of these can contain the key.
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

/** Estimated heap, in bytes, for each structural character of JSON, in addition to the text. */
const heapPerCharacter = new Uint8Array(256);
for (const [character, bytes] of Object.entries({ '{': 56, '[': 48, ':': 48, ',': 16, '"': 12 }))
  heapPerCharacter[character.charCodeAt(0)] = bytes;

/**
 * Estimates the heap that JSON uses while it is parsed and validated, in bytes: between 4 for each byte of long strings
 * and 48 for each byte of empty objects.
 */
export function heapOfJson(text: Uint8Array): number {
  let bytes = 2 * text.length;
  for (let index = 0; index < text.length; index += 1) bytes += heapPerCharacter[text[index] as number] as number;
  // Validation makes a copy.
  return 2 * bytes;
}
