import type { TextLoaders } from './english.ts';

export const german: TextLoaders = {
  common: () => import('./german/common.ts').then(({ common }) => common),
  forms: () => import('./german/forms.ts').then(({ forms }) => forms),
  home: () => import('./german/home.ts').then(({ home }) => home),
  runs: () => import('./german/runs.ts').then(({ runs }) => runs),
  run: () => import('./german/run.ts').then(({ run }) => run),
  approvals: () => import('./german/approvals.ts').then(({ approvals }) => approvals),
  nodes: () => import('./german/nodes.ts').then(({ nodes }) => nodes),
  inbox: () => import('./german/inbox.ts').then(({ inbox }) => inbox),
  workflows: () => import('./german/workflows.ts').then(({ workflows }) => workflows),
  shortcuts: () => import('./german/shortcuts.ts').then(({ shortcuts }) => shortcuts),
  sequences: () => import('./german/sequences.ts').then(({ sequences }) => sequences),
  agents: () => import('./german/agents.ts').then(({ agents }) => agents),
  sessions: () => import('./german/sessions.ts').then(({ sessions }) => sessions),
  schedules: () => import('./german/schedules.ts').then(({ schedules }) => schedules),
  packs: () => import('./german/packs.ts').then(({ packs }) => packs),
  knowledge: () => import('./german/knowledge.ts').then(({ knowledge }) => knowledge),
  calls: () => import('./german/calls.ts').then(({ calls }) => calls),
  settings: () => import('./german/settings.ts').then(({ settings }) => settings),
  start: () => import('./german/start.ts').then(({ start }) => start),
};
