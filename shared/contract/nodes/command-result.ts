import { z } from 'zod';
import { named, text } from '../common.ts';

/** Error codes of commands that failed on a device or before they reached it. Devices may use other codes. */
const commandErrorCodes = [
  'denied_by_device',
  'denied_by_policy',
  'outside_shared_folders',
  'downloads_not_received',
  'hub_unreachable',
  'tool_missing',
  'permission_needed',
  'timeout',
  'paused',
  'audit_unavailable',
  'protected_path',
  'not_begun',
  'interrupted',
  'approval_mismatch',
  'invalid_input',
  'not_found',
  'target_not_found',
  'too_large',
  'navigation_failed',
  'page_closed',
  'page_of_another_run',
  'too_many_pages',
  'evaluation_failed',
  'withdrawn',
  'outcome_unknown',
  'unknown_command',
  'failed',
  'node_offline',
  'node_revoked',
  'invalid_reply',
] as const;

/** Name of an artifact, unique within its result. */
export const artifactName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, 'must be a plain file name');
/** Content type of an artifact, without parameters. */
export const artifactContentType = z
  .string()
  .regex(/^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/, 'must be a content type such as image/png');
/** Maximum number of artifacts of one command. */
export const maxArtifacts = 16;
/** Maximum size of an artifact, in bytes. */
export const maxArtifactBytes = 256 * 1024 * 1024;

/** The result of a command: a JSON body, or the field `result` of a multipart body whose files are the artifacts. */
export const commandResult = named(
  'CommandResult',
  z.object({
    status: z.enum(['succeeded', 'failed']).describe('Whether the command succeeded'),
    output: z
      .unknown()
      .optional()
      .describe(
        'Output of the command, as the catalog of skills describes it. Instead of `artifactId`, the device sends `artifact`, the name of a file of this result; the hub replaces it. Other fields, such as `contentType` and `bytes`, are required as in the catalog',
      ),
    error: z
      .object({
        code: z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,59}$/, 'must be snake_case')
          .describe(`Error code, such as ${commandErrorCodes.join(', ')}`),
        message: text(0, 4000).describe('Human-readable message: what went wrong; at most 4,000 characters'),
      })
      .optional()
      .describe('Why the command failed; only with `failed`'),
    artifacts: z
      .array(
        z.object({
          name: artifactName.describe('Plain file name, unique in the result'),
          contentType: artifactContentType.describe('Content type without parameters, such as `image/png`'),
          base64: z.base64().describe('Bytes of the file, as base64'),
        }),
      )
      .max(maxArtifacts)
      .optional()
      .describe('Files of the result, at most 16, as base64 in this body'),
    uploads: z
      .array(artifactName)
      .max(maxArtifacts)
      .optional()
      .describe('Names of artifacts that were uploaded before the result'),
  }),
);
export type CommandResult = z.output<typeof commandResult>;

/** Metadata of an artifact that a device uploads in parts. It is the same for every part. */
export const uploadQuery = z.strictObject({
  offset: z.coerce
    .number()
    .int()
    .min(0, 'must be from 0 to the number of bytes that the hub has received')
    .describe('Offset of the bytes of this request, at most `received`'),
  bytes: z.coerce
    .number()
    .int()
    .min(1, 'must be from 1 to 268435456')
    .max(maxArtifactBytes, 'must be from 1 to 268435456')
    .describe('Size of the whole artifact, in bytes'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .describe('SHA-256 of the whole artifact'),
  contentType: artifactContentType,
});
export type UploadMetadata = z.output<typeof uploadQuery>;

export const uploadState = named(
  'UploadState',
  z.object({
    name: z.string().describe('Name of the artifact, unique in its command'),
    received: z.int().describe('Bytes that the hub has received: the offset of the next part'),
    bytes: z.int().nullable().describe('Size of the whole artifact; null before the first part'),
    complete: z
      .boolean()
      .describe(
        'Whether all bytes arrived and match the checksum, so that a result can list the artifact in `uploads`',
      ),
  }),
);
