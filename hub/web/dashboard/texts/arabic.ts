import { agents } from './arabic/agents.ts';
import { approvals } from './arabic/approvals.ts';
import { calls } from './arabic/calls.ts';
import { common } from './arabic/common.ts';
import { forms } from './arabic/forms.ts';
import { home } from './arabic/home.ts';
import { inbox } from './arabic/inbox.ts';
import { knowledge } from './arabic/knowledge.ts';
import { nodes } from './arabic/nodes.ts';
import { packs } from './arabic/packs.ts';
import { run } from './arabic/run.ts';
import { runs } from './arabic/runs.ts';
import { schedules } from './arabic/schedules.ts';
import { sequences } from './arabic/sequences.ts';
import { sessions } from './arabic/sessions.ts';
import { settings } from './arabic/settings.ts';
import { start } from './arabic/start.ts';
import { workflows } from './arabic/workflows.ts';
import type { Words } from './english.ts';

export const arabic: Words = {
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
