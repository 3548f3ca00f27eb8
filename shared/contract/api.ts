import { agents, toolProfiles } from './agents.ts';
import { approvals } from './approvals.ts';
import { channels } from './channels.ts';
import type { Operation } from './define.ts';
import { flows } from './flows.ts';
import { growth } from './growth.ts';
import { identity } from './identity.ts';
import { insight } from './insight.ts';
import { logs } from './logs.ts';
import { marketing } from './marketing.ts';
import { memory } from './memory.ts';
import { modelConfigurations } from './models.ts';
import { artifacts, nodes } from './nodes.ts';
import { packs } from './packs.ts';
import { policies } from './policies.ts';
import { hooks, runs } from './runs.ts';
import { sequences } from './sequences.ts';
import { sessions } from './sessions.ts';
import { system } from './system.ts';
import { workflows } from './workflows.ts';

/** Every operation of the hub, by id. */
export const api = {
  ...workflows,
  ...sequences,
  ...runs,
  ...flows,
  ...hooks,
  ...approvals,
  ...policies,
  ...agents,
  ...toolProfiles,
  ...modelConfigurations,
  ...sessions,
  ...memory,
  ...channels,
  ...logs,
  ...packs,
  ...insight,
  ...nodes,
  ...artifacts,
  ...growth,
  ...marketing,
  ...identity,
  ...system,
};

export type Api = typeof api;
export type OperationId = keyof Api;

/** The operations in the order of the document. */
export const operations: readonly Operation[] = Object.values(api);
