import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { UpdateProblem } from './update-problem.ts';

const version = z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/);

/** What a release says of itself: a JSON file, whose exact bytes are signed. */
export const updateFeed = z.object({
  app: z.literal('outrigger-companion'),
  /** The machines that it is for, as Node names them: `linux-x64`. */
  target: z.string(),
  version,
  /** Name of the file, beside the feed. */
  file: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$/),
  bytes: z
    .int()
    .min(1)
    .max(2 * 1024 ** 3),
  /** In hexadecimal. */
  sha512: z.string().regex(/^[0-9a-f]{128}$/),
  /** The oldest version that can update to it by itself. */
  minimumVersion: version,
  releasedAt: z.iso.datetime(),
});
export type UpdateFeed = z.output<typeof updateFeed>;

/** The newest release that this installation has seen; an older one is no update. */
export const seenRelease = z.object({ version, releasedAt: z.iso.datetime() });
export type SeenRelease = z.output<typeof seenRelease>;

/** Bytes of a feed, and of its signatures, that are read at most. */
export const maxFeedBytes = 16 * 1024;
const maxSignatures = 8;

/** Below, equal to or above zero, as the first version is older, the same or newer. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split(/[.+-]/, 3).map(Number)) as [number[], number[]];
  for (const [index, part] of left.entries()) if (part !== right[index]) return part - (right[index] ?? 0);
  return 0;
}

/** Public keys from their text: raw Ed25519 keys in base64, divided by commas. @throws when one is none. */
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
 * What a signed feed says: one of its signatures, base64 and a line each, is by one of the keys.
 * @throws UpdateProblem `refused` when none is, or it is not a feed.
 */
export function readFeed(bytes: Uint8Array, signatures: string | null, keys: readonly KeyObject[]): UpdateFeed {
  if (signatures === null || signatures.trim() === '')
    throw new UpdateProblem(
      'refused',
      'The announcement of an update has no signature; it was not used. Nothing was changed.',
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
      'The announcement of an update is not signed by the makers of this app; it was not used. Somebody may have changed it on the way. Nothing was changed.',
    );
  const feed = updateFeed.safeParse(parseJson(bytes)).data;
  if (feed === undefined)
    throw new UpdateProblem(
      'refused',
      'The announcement of an update is one that this version does not understand; get the new version by hand.',
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

/** @throws UpdateProblem `refused` when a signed release is for other machines, or older than one that was seen already. */
export function refuseUnsuitable(
  feed: UpdateFeed,
  { target, seen }: { target: string; seen: SeenRelease | null },
): void {
  if (feed.target !== target)
    throw new UpdateProblem('refused', `The update that was announced is for ${feed.target}, and this is ${target}.`);
  if (
    seen !== null &&
    (compareVersions(feed.version, seen.version) < 0 || Date.parse(feed.releasedAt) < Date.parse(seen.releasedAt))
  )
    throw new UpdateProblem(
      'refused',
      `Version ${feed.version} of ${feed.releasedAt.slice(0, 10)} was announced, but version ${seen.version} of ${seen.releasedAt.slice(0, 10)} was before it. An old announcement was sent again; it was not used.`,
    );
}

/** Whether a release is newer than the version that runs. @throws UpdateProblem `refused` when it can't follow this version. */
export function isUpdate(feed: UpdateFeed, current: string): boolean {
  if (compareVersions(feed.version, current) <= 0) return false;
  if (compareVersions(current, feed.minimumVersion) < 0)
    throw new UpdateProblem(
      'refused',
      `Version ${feed.version} can't follow ${current} by itself; it needs ${feed.minimumVersion} or newer. Get it by hand.`,
    );
  return true;
}

const staleAfterMs = 30 * 24 * 60 * 60 * 1000;

/** What is to be said when the newest release is an old one; null when it is not. */
export function describeAge(feed: UpdateFeed, now: number): string | null {
  const ageMs = now - Date.parse(feed.releasedAt);
  if (ageMs <= staleAfterMs) return null;
  return `The newest version that was announced is ${feed.version} of ${feed.releasedAt.slice(0, 10)}, ${Math.floor(ageMs / (24 * 60 * 60 * 1000))} days ago. If you know of a newer one, something keeps its announcement from this machine.`;
}
