import type { Skill } from './engine/skill.ts';
import type { RowRetention } from './platform/db/row-retention.ts';
import type { LongPollRoute } from './platform/http/live/long-polls.ts';
import type { SocketRoute } from './platform/http/live/sockets.ts';
import type { Page } from './platform/http/pages/page.ts';
import type { Route } from './platform/http/routing/implement.ts';
import type { PeriodicTask } from './platform/process/periodic-tasks.ts';

/** What a product offers the hub that it is part of; what it leaves out it has none of. */
export interface Product {
  /** Operations of the API. */
  routes?: readonly Route[];
  /** Operations of the API that become WebSockets. */
  sockets?: readonly SocketRoute[];
  /** Operations of `routes` whose requests wait. */
  longPolls?: readonly LongPollRoute[];
  /** Pages beside the API. */
  pages?: readonly Page[];
  /** What steps of workflows and agents can call. */
  skills?: readonly Skill[];
  /** What the one process that leads does from time to time. */
  tasks?: readonly PeriodicTask[];
  /** How long its rows stay. */
  retention?: RowRetention;
}
