import type { Skill } from './engine/skill.ts';
import type { RowRetention } from './platform/db/row-retention.ts';
import type { Route } from './platform/http/implement.ts';
import type { Page } from './platform/http/page.ts';
import type { PeriodicTask } from './platform/periodic-tasks.ts';

/** What a product offers the hub that it is part of; what it leaves out it has none of. */
export interface Product {
  /** Operations of the API. */
  routes?: readonly Route[];
  /** Pages beside the API. */
  pages?: readonly Page[];
  /** What steps of workflows and agents can call. */
  skills?: readonly Skill[];
  /** What the one process that leads does from time to time. */
  tasks?: readonly PeriodicTask[];
  /** How long its rows stay. */
  retention?: RowRetention;
}
