import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import type { Request } from 'express';
import { commandResult } from '../../shared/contract/nodes.ts';
import type { CommandResult } from '../../shared/contract/nodes.ts';
import { AppError } from '../../shared/errors.ts';
import type { UploadedFile } from '../modules/nodes/index.ts';
import { parsePart } from './errors.ts';

/** A result that came as `multipart/form-data`; its files are removed with it. */
export interface UploadedResult extends AsyncDisposable {
  result: CommandResult;
  files: UploadedFile[];
}

const maxFiles = 16;
const maxFieldBytes = 12 * 1024 * 1024;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Reads a multipart result into files of the request's own. @throws AppError for a body that is not usable. */
export async function readMultipartResult(request: Request, maxFileBytes: number): Promise<UploadedResult> {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-upload-'));
  const discard = () => rm(folder, { recursive: true, force: true });
  try {
    const { field, files } = await receive(request, folder, maxFileBytes);
    if (field === undefined) throw invalid('body.result', 'is required: the JSON of the result');
    let json: unknown;
    try {
      json = JSON.parse(field);
    } catch {
      throw invalid('body.result', 'is not JSON');
    }
    return { result: parsePart('body', commandResult, json), files, [Symbol.asyncDispose]: discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function receive(request: Request, folder: string, maxFileBytes: number): Promise<{ field: string | undefined; files: UploadedFile[] }> {
  let parser: BusboyInstance;
  try {
    parser = new Busboy({ headers: request.headers as BusboyHeaders, limits: { files: maxFiles, fileSize: maxFileBytes, fields: 1, fieldSize: maxFieldBytes, parts: maxFiles + 1 } });
  } catch (error) {
    throw invalid('body', 'is not multipart/form-data with a boundary', error);
  }
  let field: string | undefined;
  let problem: AppError | undefined;
  const files: UploadedFile[] = [];
  const writes: Promise<void>[] = [];
  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    if (valueTruncated) problem = new AppError('payload_too_large', 'The field result is too large.');
    if (name === 'result') field = value;
    else problem ??= invalid(`body.${name.slice(0, 100)}`, 'is not known here; the fields are result and the artefacts');
  });
  parser.on('file', (_field, stream, fileName, _encoding, contentType) => {
    const name = fileName ?? '';
    if (!namePattern.test(name)) problem ??= invalid('body', 'has a file whose name is not a plain file name');
    const filePath = join(folder, String(files.length));
    files.push({ name, contentType: contentType.slice(0, 160), filePath });
    stream.on('limit', () => {
      problem ??= new AppError('payload_too_large', `An artefact has more than ${maxFileBytes} bytes.`);
    });
    writes.push(pipeline(stream, createWriteStream(filePath, { mode: 0o600 })));
  });
  parser.on('filesLimit', () => {
    problem ??= invalid('body', `has more than ${maxFiles} files`);
  });
  try {
    await pipeline(request, parser);
    await Promise.all(writes);
  } catch (error) {
    await Promise.allSettled(writes);
    throw problem ?? invalid('body', 'is not whole multipart/form-data', error);
  }
  if (problem !== undefined) throw problem;
  return { field, files };
}

function invalid(path: string, message: string, cause?: unknown): AppError {
  return new AppError('validation_failed', `${path} ${message}.`, { cause, details: [{ path, message }] });
}
