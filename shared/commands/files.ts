import { z } from 'zod';
import { defineArtifactCommand, defineCommand } from './define.ts';

const path = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  .refine((value) => !value.includes('\u0000'), 'must not hold a NUL character')
  .describe('Absolute path, or one that begins with the name of a shared folder');

/** Entries that a list holds at most. */
export const maxListEntries = 10_000;

export const filesList = defineCommand({
  type: 'node.files_list',
  title: 'List a folder',
  summary:
    'Lists a folder that the owner of the node shares, in the order of the names. Without a path: the shared folders themselves. For a large folder, pass `nextCursor` of the answer as `cursor` until it is null.',
  gate: 'none',
  acts: false,
  timeoutMs: 30_000,
  input: z.strictObject({
    path: path.optional(),
    glob: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Only entries whose name matches: `*` is any characters, `?` one, all others are themselves; such as *.pdf',
      ),
    limit: z.int().min(1).max(maxListEntries).optional().describe('Entries at most; 10,000 when left out'),
    cursor: z.string().min(1).max(4096).optional().describe('`nextCursor` of the answer before'),
  }),
  output: z.object({
    entries: z
      .array(
        z.object({
          name: z.string().max(4096),
          type: z.enum(['file', 'folder', 'link', 'other']),
          bytes: z.int().min(0),
          modifiedAt: z.iso.datetime({ precision: 3 }),
        }),
      )
      .max(maxListEntries),
    truncated: z.boolean().describe('True when there are more entries'),
    nextCursor: z
      .string()
      .max(4096)
      .nullable()
      .optional()
      .describe('Where the next list begins; null behind the last entry, left out by older companions'),
  }),
});

const fileFacts = {
  bytes: z.int().min(0).describe('Bytes in this answer'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Of the bytes in this answer'),
  eof: z.boolean(),
};

/** Content up to this size comes inside the answer; more becomes an artefact. */
export const inlineFileBytes = 256 * 1024;

const inline = z.object({
  encoding: z.enum(['utf8', 'base64']),
  content: z.string().max(2 * inlineFileBytes),
  ...fileFacts,
});

export const filesRead = defineArtifactCommand({
  type: 'node.files_read',
  title: 'Read a file',
  summary: `Reads a file, or a part of it, from a folder that the owner of the node shares; over ${inlineFileBytes / 1024} KiB as an artefact.`,
  gate: 'none',
  acts: false,
  timeoutMs: 120_000,
  input: z.strictObject({
    path,
    offset: z.int().min(0).default(0).describe('First byte'),
    length: z
      .int()
      .min(0)
      .max(256 * 1024 * 1024)
      .optional()
      .describe('Bytes at most; to the end of the file when left out'),
  }),
  output: z.union([inline, z.object({ encoding: z.literal('artifact'), artifactId: z.uuid(), ...fileFacts })]),
  reply: z.union([
    inline,
    z.object({ encoding: z.literal('artifact'), artifact: z.string().min(1).max(200), ...fileFacts }),
  ]),
});
