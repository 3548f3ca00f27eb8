export { WorkspaceLimits } from './workspace-limits.ts';
export type { LimitedKind } from './workspace-limits.ts';
