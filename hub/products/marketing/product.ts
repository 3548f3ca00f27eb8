import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { CampaignMailing } from './campaign-mailing.ts';
import { Campaigns } from './campaigns.ts';
import { ContactLists } from './contact-lists.ts';
import { marketingPages } from './pages.ts';
import { marketingRoutes } from './routes.ts';
import { marketingSkills } from './skills.ts';
import { UnsubscribeLinks } from './unsubscribe-links.ts';

export function createMarketing(
  { db, cursors, answerMemory, mailer, secrets }: Platform,
  { http: { publicUrl, host, port } }: { http: { publicUrl: string | null; host: string; port: number } },
  { limits }: { limits: WorkspaceLimits },
): Product {
  const links = new UnsubscribeLinks({
    db,
    key: secrets.subkey('unsubscribe'),
    publicUrl: publicUrl ?? `http://${host}:${port}`,
  });
  return {
    routes: marketingRoutes(
      new ContactLists({ db, cursors, answerMemory, limits }),
      new Campaigns({ db, cursors, answerMemory, limits }),
    ),
    pages: marketingPages(links),
    skills: marketingSkills(new CampaignMailing({ db, mailer, links })),
  };
}
