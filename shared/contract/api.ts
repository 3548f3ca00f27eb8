import type { Operation } from './define.ts';
import { identity } from './identity.ts';
import { artifacts, nodes } from './nodes.ts';
import { approvals, hooks, runs } from './runs.ts';
import { system } from './system.ts';
import { workflows } from './workflows.ts';

/** Every operation of the hub, by id. */
export const api = { ...system, ...identity, ...workflows, ...runs, ...hooks, ...approvals, ...nodes, ...artifacts };

export type Api = typeof api;
export type OperationId = keyof Api;

/** The operations in the order of the document. */
export const operations: readonly Operation[] = Object.values(api);
