import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Harbour office</title>
<link rel="icon" href="data:,">
<style>
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 20px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #0b2545; background: linear-gradient(180deg, #cfe8ff 0 55%, #1b6ca8 55%); }
main { width: min(34rem, 90vw); padding: 2.5rem; border-radius: 20px; background: #fff; box-shadow: 0 20px 60px #0b254533; }
h1 { margin: 0 0 .25rem; font-size: 2rem; }
p { margin: .25rem 0 1.25rem; color: #4a6284; }
button { font: inherit; font-weight: 700; padding: .75rem 1.5rem; border: 0; border-radius: 12px; background: #e4572e; color: #fff; }
output { display: block; margin-top: 1.25rem; font-weight: 700; color: #12805c; min-height: 1.5em; }
</style>
<main>
<h1>Harbour office</h1>
<p>Boats at anchor: 12. Wind: 4 knots from the south-west.</p>
<button id="signal">Raise the signal</button>
<output id="answer"></output>
</main>
<script>
document.getElementById('signal').addEventListener('click', () => { document.getElementById('answer').textContent = 'The signal is up. All boats have seen it.'; });
</script>
</html>
`;

/** Serves the page that the browser step of the demo visits. */
export async function servePage(): Promise<{ url: string } & AsyncDisposable> {
  const server: Server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
