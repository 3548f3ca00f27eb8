import type { Pack, PackManifest } from '../../../../shared/contract/automations/packs.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, desc, eq, sql } from '../../../platform/db/orm.ts';
import { hubPacks, publishedPacks } from './schema.ts';
import { shippedPacks } from './shipped.ts';

/** A pack that a workspace can see, without its manifest. */
export interface KnownPack {
  packId: string;
  version: string;
  source: Pack['source'];
  /** Withdrawn by the operator: only workspaces that have installed the pack can use it. */
  isWithdrawn: boolean;
  /** The publisher in the workspace; null for packs of the hub and for unknown publishers. */
  publishedBy: string | null;
  /** Size of the manifest, in bytes. */
  bytes: number;
}

export type FoundPack = KnownPack & { manifest: PackManifest };

const newerFirst = (left: string, right: string) => {
  const parts = (version: string) => version.split('.').map(Number);
  const [a, b] = [parts(left), parts(right)];
  return (b[0] ?? 0) - (a[0] ?? 0) || (b[1] ?? 0) - (a[1] ?? 0) || (b[2] ?? 0) - (a[2] ?? 0);
};

/** SQL expression for the size of a manifest, in bytes. */
export const manifestBytes = sql<number>`${sql.raw(memorySize('manifest', '{}'))}`;

/** Every pack that the workspace can see, newest version first. */
export async function readKnownPacks(tx: Transaction, tenantId: string): Promise<KnownPack[]> {
  const { packId, version, publishedBy } = publishedPacks;
  const published = await tx
    .select({ packId, version, publishedBy, bytes: manifestBytes })
    .from(publishedPacks)
    .where(eq(publishedPacks.tenantId, tenantId))
    .orderBy(desc(publishedPacks.id))
    .limit(1000);
  const own = new Set(published.map((pack) => pack.packId));
  const ofHub = await tx
    .select({
      packId: hubPacks.packId,
      version: hubPacks.version,
      withdrawnAt: hubPacks.withdrawnAt,
      bytes: manifestBytes,
    })
    .from(hubPacks);
  const all = [
    ...shippedPacks.map(({ id, version: shipped }): KnownPack => ({
      packId: id,
      version: shipped,
      source: 'shipped',
      isWithdrawn: false,
      publishedBy: null,
      bytes: 0,
    })),
    // A pack id that the workspace published first stays its own: the operator cannot replace an installed pack.
    ...ofHub
      .filter((pack) => !own.has(pack.packId))
      .map(({ withdrawnAt, ...pack }): KnownPack => ({
        ...pack,
        source: 'hub',
        isWithdrawn: withdrawnAt !== null,
        publishedBy: null,
      })),
    ...published.map((pack): KnownPack => ({ ...pack, source: 'published', isWithdrawn: false })),
  ];
  return all.toSorted((left, right) => newerFirst(left.version, right.version));
}

/** Reads the manifests of packs that the workspace can see. */
export async function readManifests(
  tx: Transaction,
  tenantId: string,
  packs: readonly KnownPack[],
): Promise<FoundPack[]> {
  const found: FoundPack[] = [];
  for (const pack of packs) {
    const manifest = await readManifest(tx, tenantId, pack);
    if (manifest !== undefined) found.push({ ...pack, manifest });
  }
  return found;
}

async function readManifest(
  tx: Transaction,
  tenantId: string,
  { packId, version, source }: KnownPack,
): Promise<PackManifest | undefined> {
  if (source === 'shipped') return shippedPacks.find((pack) => pack.id === packId && pack.version === version);
  const [row] =
    source === 'hub'
      ? await tx
          .select({ manifest: hubPacks.manifest })
          .from(hubPacks)
          .where(and(eq(hubPacks.packId, packId), eq(hubPacks.version, version)))
      : await tx
          .select({ manifest: publishedPacks.manifest })
          .from(publishedPacks)
          .where(
            and(
              eq(publishedPacks.tenantId, tenantId),
              eq(publishedPacks.packId, packId),
              eq(publishedPacks.version, version),
            ),
          );
  return row?.manifest;
}
