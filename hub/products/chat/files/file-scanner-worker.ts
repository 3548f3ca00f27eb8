import { parentPort } from 'node:worker_threads';
import { AppError } from '../../../../shared/errors.ts';
import { judgeContent } from './content.ts';

/** What this thread says of a file; without bytes where it is kept as it came. */
export type Judgement =
  | { contentType: string; extensions: readonly [string, ...string[]]; bytes: Uint8Array<ArrayBuffer> | null }
  | { refused: string };

function judge(given: Buffer): Judgement {
  try {
    const { bytes, ...kind } = judgeContent(given);
    // A copy of its own, which can be handed over.
    return { ...kind, bytes: bytes === given ? null : new Uint8Array(bytes) };
  } catch (error) {
    if (error instanceof AppError) return { refused: error.message };
    throw error;
  }
}

parentPort?.on('message', (file: Uint8Array<ArrayBuffer>) => {
  const judgement = judge(Buffer.from(file.buffer));
  const bytes = 'bytes' in judgement ? judgement.bytes : null;
  parentPort?.postMessage(judgement, bytes === null ? [] : [bytes.buffer]);
});
// Says that it is there.
parentPort?.postMessage(null, []);
