import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { ChannelConversations } from '../../chat/channels/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { Email } from '../email/index.ts';
import type { Runs } from '../runs/index.ts';
import type { Workflows } from '../workflows/index.ts';
import type { channels } from './schema.ts';

export type ChannelRow = typeof channels.$inferSelect;

export interface ChannelsDependencies {
  db: Database;
  cursors: Cursors;
  secrets: Secrets;
  egress: Egress;
  email: Email;
  runs: Runs;
  workflows: Workflows;
  limits: WorkspaceLimits;
  logger: Logger;
  /** Live Chat. */
  conversations: ChannelConversations;
}
