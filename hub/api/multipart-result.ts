import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import type { Request } from 'express';
import { artifactContentType, artifactName, commandResult, maxArtifactBytes, maxArtifacts } from '../../shared/contract/nodes.ts';
import type { CommandResult } from '../../shared/contract/nodes.ts';
import { AppError } from '../../shared/errors.ts';
import { maxCommandBytes } from '../modules/nodes/index.ts';
import type { UploadedFile } from '../modules/nodes/index.ts';
import type { PartialBlobs } from '../platform/blobs/partial-blobs.ts';
import { parsePart } from './errors.ts';

/** A result that came as `multipart/form-data`; its files are removed with it. */
export interface UploadedResult extends AsyncDisposable {
  result: CommandResult;
  files: UploadedFile[];
}

const maxFieldBytes = 12 * 1024 * 1024;

/** Greatest body that is read, in bytes: what a command may bring along, and the result. */
export const maxMultipartBytes = maxCommandBytes + maxFieldBytes + 64 * 1024;

/**
 * Reads a multipart result, its files into bytes of the request's own that a sweep removes should this process die. The files of a
 * result that failed are not kept.
 * @throws AppError for a body that is not usable.
 */
export async function readMultipartResult(request: Request, partials: PartialBlobs): Promise<UploadedResult> {
  const ids: string[] = [];
  const discard = async () => {
    await Promise.all(ids.map((id) => partials.delete(id)));
  };
  try {
    const { result, files } = await receive(request, partials, ids);
    if (result === undefined) throw invalid('body.result', 'is required: the JSON of the result');
    return { result, files, [Symbol.asyncDispose]: discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function receive(request: Request, partials: PartialBlobs, ids: string[]): Promise<{ result: CommandResult | undefined; files: UploadedFile[] }> {
  let parser: BusboyInstance;
  try {
    parser = new Busboy({ headers: request.headers as BusboyHeaders, limits: { files: maxArtifacts, fileSize: maxArtifactBytes, fields: 1, fieldSize: maxFieldBytes, parts: maxArtifacts + 1 } });
  } catch (error) {
    throw invalid('body', 'is not multipart/form-data with a boundary', error);
  }
  let result: CommandResult | undefined;
  let problem: unknown;
  let total = 0;
  const files: UploadedFile[] = [];
  const writes: Promise<void>[] = [];
  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    try {
      if (name !== 'result') throw invalid(`body.${name.slice(0, 100)}`, 'is not known here; the fields are result and the artefacts');
      if (valueTruncated) throw new AppError('payload_too_large', 'The field result is too large.');
      result = parsePart('body', commandResult, parseJson(value));
    } catch (error) {
      problem ??= error;
    }
  });
  parser.on('file', (_field, stream, fileName, _encoding, contentType) => {
    const path = `body[${files.length}]`;
    if (!artifactName.safeParse(fileName ?? '').success) problem ??= invalid('body', 'has a file whose name is not a plain file name');
    else if (!artifactContentType.safeParse(contentType).success) problem ??= invalid(path, `has the content type ${JSON.stringify(contentType.slice(0, 100))}; it must be one such as image/png`);
    if (problem !== undefined || result?.status === 'failed') {
      stream.resume();
      return;
    }
    const id = randomUUID();
    ids.push(id);
    const file: UploadedFile = { name: fileName as string, contentType, bytes: 0, open: () => partials.read(id) };
    files.push(file);
    stream.on('limit', () => {
      problem ??= new AppError('payload_too_large', `An artefact has more than ${maxArtifactBytes} bytes.`);
    });
    const write = async () => {
      file.bytes = await partials.write(id, 0, stream as AsyncIterable<Buffer>, { maxBytes: maxArtifactBytes });
      total += file.bytes;
      if (total > maxCommandBytes) problem ??= new AppError('payload_too_large', `The artefacts of one command may have ${maxCommandBytes} bytes together.`);
    };
    writes.push(
      write().catch((error: unknown) => {
        problem ??= error;
        stream.resume();
      }),
    );
  });
  parser.on('filesLimit', () => {
    problem ??= invalid('body', `has more than ${maxArtifacts} files`);
  });
  try {
    await pipeline(request, parser);
    await Promise.all(writes);
  } catch (error) {
    await Promise.allSettled(writes);
    throw problem ?? invalid('body', 'is not whole multipart/form-data', error);
  }
  if (problem !== undefined) throw problem;
  return { result, files: result?.status === 'failed' ? [] : files };
}

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
