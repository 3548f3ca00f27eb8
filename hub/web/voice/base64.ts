/** Bytes per call: engines limit the number of arguments. */
const chunkBytes = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let offset = 0; offset < bytes.length; offset += chunkBytes)
    text += String.fromCharCode(...bytes.subarray(offset, offset + chunkBytes));
  return btoa(text);
}

export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
