import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import {
  artifactContentType,
  artifactName,
  commandResult,
  maxArtifactBytes,
  maxArtifacts,
} from '../../../../shared/contract/nodes/command-result.ts';
import type { CommandResult } from '../../../../shared/contract/nodes/command-result.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { PartialBlobs } from '../../../platform/blobs/partial-blobs.ts';
import { heapOfBody, tooManyLargeBodies } from '../../../platform/http/routing/body.ts';
import { parsePart } from '../../../platform/http/routing/errors.ts';
import type { MemoryReservation } from '../../../platform/process/memory-budget.ts';
import { maxCommandBytes } from '../artifacts/index.ts';
import type { UploadedFile } from './results.ts';

/** A result that was sent as `multipart/form-data`. Disposing it deletes its files. */
export interface UploadedResult extends AsyncDisposable {
  result: CommandResult;
  files: UploadedFile[];
}

export interface ResultMemory {
  incoming: MemoryReservation;
  parsed: MemoryReservation;
}

const maxFieldBytes = 12 * 1024 * 1024;

/** Maximum size of a body, in bytes: the artifacts of a command, the result and the multipart headers. */
export const maxMultipartBytes = maxCommandBytes + maxFieldBytes + 64 * 1024;

/**
 * Reads a multipart result and writes its files to partial blobs. If this process crashes, a sweep deletes them.
 * The files of a failed result are discarded. Reading stops at the first error.
 * @param memory `incoming` for the received bytes outside of files, `parsed` for the parsed result.
 * @throws AppError for an invalid body, or the error that `body` throws.
 */
export async function readMultipartResult(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Buffer>,
  partials: PartialBlobs,
  memory: ResultMemory,
): Promise<UploadedResult> {
  const ids: string[] = [];
  const discard = async () => {
    await Promise.all(ids.map((id) => partials.delete(id)));
  };
  try {
    const { result, files } = await receive(headers, body, partials, ids, memory);
    if (result === undefined) throw invalid('body.result', 'is required: the JSON of the result');
    return { result, files, [Symbol.asyncDispose]: discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function receive(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Buffer>,
  partials: PartialBlobs,
  ids: string[],
  memory: ResultMemory,
): Promise<{ result: CommandResult | undefined; files: UploadedFile[] }> {
  let parser: BusboyInstance;
  try {
    parser = new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        files: maxArtifacts,
        fileSize: maxArtifactBytes,
        fields: 1,
        fieldSize: maxFieldBytes,
        parts: maxArtifacts + 1,
      },
    });
  } catch (error) {
    throw invalid('body', 'is not multipart/form-data with a boundary', error);
  }
  let text: Buffer | undefined;
  let heapBytes = 0;
  let problem: unknown;
  let total = 0;
  let receivedBytes = 0;
  let fileBytes = 0;
  const files: UploadedFile[] = [];
  const streams: Readable[] = [];
  const writes: Promise<void>[] = [];
  const failed = Promise.withResolvers<void>();
  const fail = (error: unknown) => {
    problem ??= error;
    failed.resolve();
  };
  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    try {
      if (name !== 'result')
        throw invalid(`body.${name.slice(0, 100)}`, 'is not known here; the fields are result and the artifacts');
      if (valueTruncated) throw new AppError('payload_too_large', 'The field result is too large.');
      // The field is parsed after the files, so that it uses less memory while slow files arrive.
      text = Buffer.from(value);
      heapBytes = heapOfBody(text);
    } catch (error) {
      fail(error);
    }
  });
  parser.on('file', (_field, stream, fileName, _encoding, contentType) => {
    const path = `body[${files.length}]`;
    if (!artifactName.safeParse(fileName ?? '').success)
      fail(invalid('body', 'has a file whose name is not a plain file name'));
    else if (!artifactContentType.safeParse(contentType).success)
      fail(
        invalid(
          path,
          `has the content type ${JSON.stringify(contentType.slice(0, 100))}; it must be one such as image/png`,
        ),
      );
    if (problem !== undefined) {
      stream.resume();
      return;
    }
    const id = randomUUID();
    ids.push(id);
    const file: UploadedFile = { name: fileName as string, contentType, bytes: 0, open: () => partials.read(id) };
    files.push(file);
    stream.on('limit', () =>
      fail(new AppError('payload_too_large', `An artifact has more than ${maxArtifactBytes} bytes.`)),
    );
    // An interrupted file is an error of the request, not of the storage.
    stream.on('error', (error: unknown) => fail(incomplete(error)));
    streams.push(stream);
    const write = async () => {
      const chunks = counted(
        stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>,
        (bytes) => (fileBytes += bytes),
      );
      file.bytes = await partials.write(id, 0, chunks, { maxBytes: maxArtifactBytes });
      total += file.bytes;
      if (total > maxCommandBytes)
        throw new AppError(
          'payload_too_large',
          `The artifacts of one command may have ${maxCommandBytes} bytes together.`,
        );
    };
    writes.push(write().catch(fail));
  });
  parser.on('filesLimit', () => fail(invalid('body', `has more than ${maxArtifacts} files`)));
  const parsed = finished(parser).catch((error: unknown) => fail(incomplete(error)));
  try {
    for await (const chunk of body) {
      receivedBytes += chunk.length;
      // The field stays in memory until all files have arrived.
      if (!memory.incoming.tryResize(receivedBytes - fileBytes)) throw tooManyLargeBodies();
      // After a write error the file stream never drains, so only `failed` ends the wait.
      if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), parsed, failed.promise]);
      if (problem !== undefined) throw problem;
    }
    parser.end();
    await Promise.race([parsed, failed.promise]);
    if (problem === undefined) await Promise.all(writes);
    if (problem !== undefined) throw problem;
  } catch (error) {
    for (const stream of streams) stream.destroy();
    parser.destroy();
    await Promise.allSettled(writes);
    throw error instanceof AppError ? error : (problem ?? incomplete(error));
  }
  if (text === undefined) return { result: undefined, files };
  if (!memory.parsed.tryResize(heapBytes)) throw tooManyLargeBodies();
  const result = parsePart('body', commandResult, parseJson(text.toString()));
  return { result, files: result.status === 'failed' ? [] : files };
}

async function* counted(chunks: AsyncIterable<Buffer>, count: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}

const incomplete = (cause: unknown) => invalid('body', 'is incomplete multipart/form-data', cause);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid('body.result', 'is not JSON', error);
  }
}

function invalid(path: string, message: string, cause?: unknown): AppError {
  return new AppError('validation_failed', `${path} ${message}.`, { cause, details: [{ path, message }] });
}
