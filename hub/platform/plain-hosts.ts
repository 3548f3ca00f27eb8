const foreignAddress = /https?:\/\/([^\s/?#]*[^\s/?#\p{ASCII}][^\s/?#]*)\S*/giu;

/** Adds to each address whose host is not plain ASCII the host that it is: letters of another script can look just like Latin ones. */
export function withPlainHosts(text: string): string {
  return text.replaceAll(
    foreignAddress,
    (address, authority: string) =>
      `${address} ⟨host ${URL.parse(`https://${authority}`)?.host ?? 'that there can not be'}⟩`,
  );
}
