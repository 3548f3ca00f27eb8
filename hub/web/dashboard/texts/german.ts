import type { Words } from './english.ts';
import { agents } from './german/agents.ts';
import { approvals } from './german/approvals.ts';
import { calls } from './german/calls.ts';
import { common } from './german/common.ts';
import { forms } from './german/forms.ts';
import { home } from './german/home.ts';
import { inbox } from './german/inbox.ts';
import { knowledge } from './german/knowledge.ts';
import { nodes } from './german/nodes.ts';
import { packs } from './german/packs.ts';
import { run } from './german/run.ts';
import { runs } from './german/runs.ts';
import { schedules } from './german/schedules.ts';
import { sequences } from './german/sequences.ts';
import { sessions } from './german/sessions.ts';
import { settings } from './german/settings.ts';
import { start } from './german/start.ts';
import { workflows } from './german/workflows.ts';

export const german: Words = {
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
