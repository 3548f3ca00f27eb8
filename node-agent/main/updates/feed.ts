import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { UpdateProblem } from './update-problem.ts';

const version = z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/);

/** The announcement of a release: a JSON file whose exact bytes are signed. */
export const updateFeed = z.object({
  app: z.literal('outrigger-companion'),
  /** Platform and architecture of the release in the terms of Node, for example `linux-x64`. */
  target: z.string(),
  version,
  /** Name of the file, in the same folder as the feed. */
  file: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$/),
  bytes: z
    .int()
    .min(1)
    .max(2 * 1024 ** 3),
  /** In hexadecimal. */
  sha512: z.string().regex(/^[0-9a-f]{128}$/),
  /** The oldest version that can update to this release automatically. */
  minimumVersion: version,
  releasedAt: z.iso.datetime(),
});
export type UpdateFeed = z.output<typeof updateFeed>;

/** The newest release that this installation has seen. Older releases are refused. */
export const seenRelease = z.object({ version, releasedAt: z.iso.datetime() });
export type SeenRelease = z.output<typeof seenRelease>;

/** Size limit of a feed, and of its signatures. */
export const maxFeedBytes = 16 * 1024;
const maxSignatures = 8;

/** Negative if the first version is older, zero if both are equal, positive if it is newer. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split(/[.+-]/, 3).map(Number)) as [number[], number[]];
  for (const [index, part] of left.entries()) if (part !== right[index]) return part - (right[index] ?? 0);
  return 0;
}

/** Parses public keys: raw Ed25519 keys in base64, separated by commas. @throws Error when a key is invalid. */
export function parseKeys(text: string): KeyObject[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) =>
      createPublicKey({
        key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(part, 'base64').toString('base64url') },
        format: 'jwk',
      }),
    );
}

/**
 * Parses a signed feed. At least one of its signatures (base64, one per line) must be valid for one of the keys.
 * @throws UpdateProblem `refused` when no signature is valid or the content is not a feed.
 */
export function readFeed(bytes: Uint8Array, signatures: string | null, keys: readonly KeyObject[]): UpdateFeed {
  if (signatures === null || signatures.trim() === '')
    throw new UpdateProblem(
      'refused',
      'The announcement of an update has no signature. It was ignored, and nothing was changed.',
    );
  const isSigned = signatures
    .trim()
    .split('\n')
    .slice(0, maxSignatures)
    .map((line) => Buffer.from(line.trim(), 'base64'))
    .some((signature) => signature.length === 64 && keys.some((key) => verify(null, bytes, key, signature)));
  if (!isSigned)
    throw new UpdateProblem(
      'refused',
      'The announcement of an update is not signed by the makers of this app. It may have been manipulated. It was ignored, and nothing was changed.',
    );
  const feed = updateFeed.safeParse(parseJson(bytes)).data;
  if (feed === undefined)
    throw new UpdateProblem(
      'refused',
      'This version does not understand the announcement of an update. Install the new version by hand.',
    );
  return feed;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** @throws UpdateProblem `refused` when a signed release is for another platform, or older than one seen before. */
export function refuseUnsuitable(
  feed: UpdateFeed,
  { target, seen }: { target: string; seen: SeenRelease | null },
): void {
  if (feed.target !== target)
    throw new UpdateProblem('refused', `The announced update is for ${feed.target}, but this machine is ${target}.`);
  if (
    seen !== null &&
    (compareVersions(feed.version, seen.version) < 0 || Date.parse(feed.releasedAt) < Date.parse(seen.releasedAt))
  )
    throw new UpdateProblem(
      'refused',
      `Version ${feed.version} of ${feed.releasedAt.slice(0, 10)} was announced after version ${seen.version} of ${seen.releasedAt.slice(0, 10)}. An old announcement was sent again. It was ignored.`,
    );
}

/** Whether a release is newer than the running version. @throws UpdateProblem `refused` if it cannot follow this version. */
export function isUpdate(feed: UpdateFeed, current: string): boolean {
  if (compareVersions(feed.version, current) <= 0) return false;
  if (compareVersions(current, feed.minimumVersion) < 0)
    throw new UpdateProblem(
      'refused',
      `Version ${feed.version} can't be installed automatically over ${current}: it needs ${feed.minimumVersion} or newer. Install it by hand.`,
    );
  return true;
}

const staleAfterMs = 30 * 24 * 60 * 60 * 1000;

/** A warning if the newest release is old. Null if it is not. */
export function describeAge(feed: UpdateFeed, now: number): string | null {
  const ageMs = now - Date.parse(feed.releasedAt);
  if (ageMs <= staleAfterMs) return null;
  return `The newest announced version is ${feed.version} of ${feed.releasedAt.slice(0, 10)}, ${Math.floor(ageMs / (24 * 60 * 60 * 1000))} days ago. If you know of a newer version, its announcement does not reach this machine.`;
}
