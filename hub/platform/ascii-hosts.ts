const nonAsciiAddress = /https?:\/\/([^\s/?#]*[^\s/?#\p{ASCII}][^\s/?#]*)\S*/giu;

/**
 * Appends the Punycode host to each URL whose host has non-ASCII characters, because letters of other scripts can look
 * like Latin ones.
 */
export function withAsciiHosts(text: string): string {
  return text.replaceAll(
    nonAsciiAddress,
    (address, authority: string) => `${address} ⟨host ${URL.parse(`https://${authority}`)?.host ?? 'is not valid'}⟩`,
  );
}
