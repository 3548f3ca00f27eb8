import { z } from 'zod';
import { defineArtifactCommand, defineCommand } from './define.ts';

const path = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  .refine((value) => !value.includes('\u0000'), 'must not contain a NUL character')
  .describe('Absolute path, or one that begins with the name of a shared folder');

/** Maximum number of entries of a list. */
export const maxListEntries = 10_000;

export const filesList = defineCommand({
  type: 'node.files_list',
  title: 'List a folder',
  summary:
    'Lists a folder that the owner of the node shares, sorted by name. Without a path, lists the shared folders. For a large folder, send `nextCursor` of the output as `cursor` until it is null.',
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
      .describe('Only entries with a matching name, such as `*.pdf`; `*` matches any characters, `?` matches one'),
    limit: z.int().min(1).max(maxListEntries).optional().describe('Maximum number of entries; 10,000 when omitted'),
    cursor: z.string().min(1).max(4096).optional().describe('`nextCursor` of the previous output'),
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
    truncated: z.boolean().describe('Whether there are more entries'),
    nextCursor: z
      .string()
      .max(4096)
      .nullable()
      .optional()
      .describe('Start of the next list; null after the last entry; missing from older companions'),
  }),
});

const fileFacts = {
  bytes: z.int().min(0).describe('Number of bytes in this output'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('SHA-256 of the bytes in this output'),
  eof: z.boolean(),
};

/** Maximum size of content in the output, in bytes. Larger content becomes an artifact. */
export const inlineFileBytes = 256 * 1024;

const inline = z.object({
  encoding: z.enum(['utf8', 'base64']),
  content: z.string().max(2 * inlineFileBytes),
  ...fileFacts,
});

export const filesRead = defineArtifactCommand({
  type: 'node.files_read',
  title: 'Read a file',
  summary: `Reads a file, or a part of it, from a folder that the owner of the node shares. Content over ${inlineFileBytes / 1024} KiB becomes an artifact.`,
  gate: 'none',
  acts: false,
  timeoutMs: 120_000,
  input: z.strictObject({
    path,
    offset: z.int().min(0).default(0).describe('Offset of the first byte'),
    length: z
      .int()
      .min(0)
      .max(256 * 1024 * 1024)
      .optional()
      .describe('Maximum number of bytes; to the end of the file when omitted'),
  }),
  output: z.union([inline, z.object({ encoding: z.literal('artifact'), artifactId: z.uuid(), ...fileFacts })]),
  reply: z.union([
    inline,
    z.object({ encoding: z.literal('artifact'), artifact: z.string().min(1).max(200), ...fileFacts }),
  ]),
});
