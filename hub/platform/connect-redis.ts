import type { Redis } from 'ioredis';

/**
 * Connects a client for the first time. Later errors go to `onError`, because the client reconnects by itself.
 * @throws the error of the socket. ioredis itself only reports that the connection is closed.
 */
export async function connectRedis(client: Redis, onError: (error: Error) => void): Promise<void> {
  let isConnected = false;
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    if (isConnected) onError(error);
    else reason = error;
  });
  try {
    await client.connect();
    isConnected = true;
  } catch (error) {
    client.disconnect();
    throw reason ?? error;
  }
}
