import { agents } from './english/agents.ts';
import { approvals } from './english/approvals.ts';
import { calls } from './english/calls.ts';
import { common } from './english/common.ts';
import { forms } from './english/forms.ts';
import { home } from './english/home.ts';
import { inbox } from './english/inbox.ts';
import { knowledge } from './english/knowledge.ts';
import { nodes } from './english/nodes.ts';
import { packs } from './english/packs.ts';
import { run } from './english/run.ts';
import { runs } from './english/runs.ts';
import { schedules } from './english/schedules.ts';
import { sequences } from './english/sequences.ts';
import { sessions } from './english/sessions.ts';
import { settings } from './english/settings.ts';
import { start } from './english/start.ts';
import { workflows } from './english/workflows.ts';

/** Texts of the dashboard in English. The other languages have the same tables. */
export const english = {
  common,
  forms,
  home,
  runs,
  run,
  approvals,
  nodes,
  inbox,
  workflows,
  sequences,
  agents,
  sessions,
  schedules,
  packs,
  knowledge,
  calls,
  settings,
  start,
};

/** The texts of the dashboard. Each feature has its own table. */
export type Words = typeof english;
