import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { Marketing } from './marketing.ts';
import { marketingPages } from './pages.ts';
import { marketingRoutes } from './routes.ts';
import { marketingSkills } from './skills.ts';

/** Contacts and campaigns. */
export function createMarketing(
  { db, cursors, mailer, secrets }: Platform,
  { http: { publicUrl, host, port } }: { http: { publicUrl: string | null; host: string; port: number } },
  { limits }: { limits: WorkspaceLimits },
): Product {
  const unsubscribeKey = secrets.subkey('unsubscribe');
  const marketing = new Marketing({
    db,
    cursors,
    mailer,
    limits,
    unsubscribeKey,
    publicUrl: publicUrl ?? `http://${host}:${port}`,
  });
  return {
    routes: marketingRoutes(marketing),
    pages: marketingPages(marketing),
    skills: marketingSkills(marketing),
  };
}
