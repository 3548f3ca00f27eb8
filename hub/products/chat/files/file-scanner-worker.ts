import { parentPort } from 'node:worker_threads';
import { AppError } from '../../../../shared/errors.ts';
import { scanContent } from './content.ts';
import type { FileContent } from './content.ts';

/** The result of a scan. `bytes` is null if the file is stored unchanged. */
export type ScanResult = (Omit<FileContent, 'bytes'> & { bytes: Uint8Array<ArrayBuffer> | null }) | { refused: string };

function scan(given: Buffer): ScanResult {
  try {
    const { bytes, ...kind } = scanContent(given);
    // A copy in its own buffer, which can be transferred.
    return { ...kind, bytes: bytes === given ? null : new Uint8Array(bytes) };
  } catch (error) {
    if (error instanceof AppError) return { refused: error.message };
    throw error;
  }
}

parentPort?.on('message', (file: Uint8Array<ArrayBuffer>) => {
  const result = scan(Buffer.from(file.buffer));
  const bytes = 'bytes' in result ? result.bytes : null;
  parentPort?.postMessage(result, bytes === null ? [] : [bytes.buffer]);
});
// Reports that the thread is ready.
parentPort?.postMessage(null, []);
