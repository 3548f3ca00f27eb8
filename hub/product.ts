import type { Skill } from './engine/skill.ts';
import type { RowRetention } from './platform/db/row-retention.ts';
import type { LongPollRoute } from './platform/http/live/long-polls.ts';
import type { SocketRoute } from './platform/http/live/sockets.ts';
import type { Page } from './platform/http/pages/page.ts';
import type { Route } from './platform/http/routing/implement.ts';
import type { PeriodicTask } from './platform/process/periodic-tasks.ts';

/** The parts of the hub that a product provides. All are optional. */
export interface Product {
  /** Operations of the API. */
  routes?: readonly Route[];
  /** Operations of the API that become WebSockets. */
  sockets?: readonly SocketRoute[];
  /** Operations of `routes` that long-poll. */
  longPolls?: readonly LongPollRoute[];
  /** HTML pages. */
  pages?: readonly Page[];
  /** Skills that workflow steps and AI agents can call. */
  skills?: readonly Skill[];
  /** Periodic tasks of the leader process. */
  tasks?: readonly PeriodicTask[];
  /** Retention of its rows. */
  retention?: RowRetention;
}
