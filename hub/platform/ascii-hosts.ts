const nonAsciiAddress = /https?:\/\/([^\s/?#]*[^\s/?#\p{ASCII}][^\s/?#]*)\S*/giu;

/** Adds to each address whose host is not plain ASCII the host that it is: letters of another script can look just like Latin ones. */
export function withAsciiHosts(text: string): string {
  return text.replaceAll(
    nonAsciiAddress,
    (address, authority: string) =>
      `${address} ⟨host ${URL.parse(`https://${authority}`)?.host ?? 'that there can not be'}⟩`,
  );
}
