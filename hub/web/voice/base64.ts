/** As many bytes as one call takes as its arguments. */
const chunkBytes = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + chunkBytes));
  return btoa(text);
}

export const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
