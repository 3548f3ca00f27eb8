import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** Servers around the demo chat: the site of a shop, and a receiver of webhooks. */

interface Server extends AsyncDisposable {
  url: string;
}

/** Starts a server on a free port of this machine. */
export async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<Server> {
  const server = createServer((request, response) => {
    // The request can end before its body has arrived.
    Promise.resolve(answer(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** The page of a shop with the chat widget. Its Content-Security-Policy allows nothing else. */
export const shopPage = (snippet: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Harbour supplies</title>
<link rel="icon" href="data:,">
<style nonce="demo">
body { margin: 0; min-height: 100vh; font: 18px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #0b2545; background: #eef5fb; }
header { padding: 1.5rem 8vw; background: #0b2545; color: #fff; font-weight: 700; }
main { padding: 3rem 8vw; max-width: 40rem; }
h1 { margin: 0 0 .5rem; font-size: 2.2rem; line-height: 1.2; }
p { color: #4a6284; }
</style>
<header>Harbour supplies</header>
<main><h1>Ropes, sails and lanterns</h1><p>Everything that a boat needs. Ask us in the chat.</p></main>
${snippet.replace('<script', '<script nonce="demo"')}
</html>
`;
export const shopPolicy = (hub: string) =>
  `default-src 'none'; script-src 'nonce-demo' ${hub}; style-src 'nonce-demo'; img-src data:; frame-src ${hub}; connect-src 'none'`;

/** Starts a webhook receiver that counts events with a valid signature, by event type. */
export async function receiveWebhooks(secretOf: () => string, counts: Map<string, number>): Promise<Server> {
  return serve(async (request, response) => {
    const body = await readText(request);
    const expected = createHmac('sha256', secretOf())
      .update(`${String(request.headers['x-service-timestamp'])}.${body}`)
      .digest();
    const signature = Buffer.from(String(request.headers['x-service-signature']), 'hex');
    const isValid = signature.length === expected.length && timingSafeEqual(signature, expected);
    if (isValid) {
      const { event } = JSON.parse(body) as { event: string };
      counts.set(event, (counts.get(event) ?? 0) + 1);
    }
    response.writeHead(isValid ? 204 : 401).end();
  });
}
