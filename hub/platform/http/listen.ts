import type { AddressInfo, Server } from 'node:net';
import { AppError } from '../../../shared/errors.ts';

/** Starts to listen. Returns the URL for a browser on this machine. @throws AppError `unavailable`, with what to do. */
export function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `Port ${port} of ${host} is in use; stop the program that uses it, or set PORT to another port.`
          : `Can't listen on ${host}:${port} (${error.code ?? error.message}); check HOST and PORT.`;
      reject(new AppError('unavailable', reason, { cause: error }));
    });
    server.listen(port, host, 4096, () => {
      const address = server.address() as AddressInfo;
      const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
      resolve(`http://${shown}:${address.port}`);
    });
  });
}
