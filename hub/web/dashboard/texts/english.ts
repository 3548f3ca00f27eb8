import { common } from './english/common.ts';

/**
 * Loads the texts of the dashboard in English. Each feature has its own table, which its pages load. The other languages
 * have the same tables.
 */
export const english = {
  // Part of the first script, so that a page can also report that nothing else could be loaded.
  common: () => Promise.resolve(common),
  forms: () => import('./english/forms.ts').then(({ forms }) => forms),
  home: () => import('./english/home.ts').then(({ home }) => home),
  runs: () => import('./english/runs.ts').then(({ runs }) => runs),
  run: () => import('./english/run.ts').then(({ run }) => run),
  approvals: () => import('./english/approvals.ts').then(({ approvals }) => approvals),
  nodes: () => import('./english/nodes.ts').then(({ nodes }) => nodes),
  inbox: () => import('./english/inbox.ts').then(({ inbox }) => inbox),
  workflows: () => import('./english/workflows.ts').then(({ workflows }) => workflows),
  shortcuts: () => import('./english/shortcuts.ts').then(({ shortcuts }) => shortcuts),
  sequences: () => import('./english/sequences.ts').then(({ sequences }) => sequences),
  agents: () => import('./english/agents.ts').then(({ agents }) => agents),
  sessions: () => import('./english/sessions.ts').then(({ sessions }) => sessions),
  schedules: () => import('./english/schedules.ts').then(({ schedules }) => schedules),
  packs: () => import('./english/packs.ts').then(({ packs }) => packs),
  knowledge: () => import('./english/knowledge.ts').then(({ knowledge }) => knowledge),
  calls: () => import('./english/calls.ts').then(({ calls }) => calls),
  settings: () => import('./english/settings.ts').then(({ settings }) => settings),
  start: () => import('./english/start.ts').then(({ start }) => start),
};

/** The texts of the dashboard. A page has the tables that `app/router.tsx` names for it. */
export type Words = { [Table in keyof typeof english]: Awaited<ReturnType<(typeof english)[Table]>> };

/** A function for each table, which loads it in one language. */
export type TextLoaders = { [Table in keyof Words]: () => Promise<Words[Table]> };
