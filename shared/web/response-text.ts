/**
 * Calls a function with each piece of text of a response as it arrives. Several supported browsers cannot iterate over
 * the body of a response.
 */
export async function readTextPieces({ body }: Response, onPiece: (text: string) => void): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onPiece(decoder.decode(value, { stream: true }));
  }
}
