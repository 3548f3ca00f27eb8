import type { Pack, PackManifest } from '../../../../shared/contract/automations/packs.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { desc, eq } from '../../../platform/db/orm.ts';
import { hubPacks, publishedPacks } from './schema.ts';
import { shippedPacks } from './shipped.ts';

export interface KnownPack {
  manifest: PackManifest;
  source: Pack['source'];
  /** Withdrawn by the operator: only workspaces that have installed it can use it. */
  isWithdrawn?: boolean;
  /** Who published it in the workspace; null for the packs of the hub, and where that is unknown. */
  publishedBy: string | null;
}

const newerFirst = (left: string, right: string) => {
  const parts = (version: string) => version.split('.').map(Number);
  const [a, b] = [parts(left), parts(right)];
  return (b[0] ?? 0) - (a[0] ?? 0) || (b[1] ?? 0) - (a[1] ?? 0) || (b[2] ?? 0) - (a[2] ?? 0);
};

/** Every pack that the workspace can see, newest version first. */
export async function readKnownPacks(tx: Transaction, tenantId: string): Promise<KnownPack[]> {
  const published = await tx
    .select({ manifest: publishedPacks.manifest, publishedBy: publishedPacks.publishedBy })
    .from(publishedPacks)
    .where(eq(publishedPacks.tenantId, tenantId))
    .orderBy(desc(publishedPacks.id))
    .limit(1000);
  const own = new Set(published.map(({ manifest }) => manifest.id));
  const ofHub = await tx.select({ manifest: hubPacks.manifest, withdrawnAt: hubPacks.withdrawnAt }).from(hubPacks);
  const all = [
    ...shippedPacks.map((manifest): KnownPack => ({ manifest, source: 'shipped', publishedBy: null })),
    // A pack that the workspace published first stays its own: the operator cannot replace what it installed.
    ...ofHub
      .filter(({ manifest }) => !own.has(manifest.id))
      .map(({ manifest, withdrawnAt }): KnownPack => ({
        manifest,
        source: 'hub',
        isWithdrawn: withdrawnAt !== null,
        publishedBy: null,
      })),
    ...published.map(({ manifest, publishedBy }): KnownPack => ({ manifest, source: 'published', publishedBy })),
  ];
  return all.toSorted((left, right) => newerFirst(left.manifest.version, right.manifest.version));
}
