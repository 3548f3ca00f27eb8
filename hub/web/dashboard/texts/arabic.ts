import type { TextLoaders } from './english.ts';

export const arabic: TextLoaders = {
  common: () => import('./arabic/common.ts').then(({ common }) => common),
  forms: () => import('./arabic/forms.ts').then(({ forms }) => forms),
  home: () => import('./arabic/home.ts').then(({ home }) => home),
  runs: () => import('./arabic/runs.ts').then(({ runs }) => runs),
  run: () => import('./arabic/run.ts').then(({ run }) => run),
  approvals: () => import('./arabic/approvals.ts').then(({ approvals }) => approvals),
  nodes: () => import('./arabic/nodes.ts').then(({ nodes }) => nodes),
  inbox: () => import('./arabic/inbox.ts').then(({ inbox }) => inbox),
  workflows: () => import('./arabic/workflows.ts').then(({ workflows }) => workflows),
  shortcuts: () => import('./arabic/shortcuts.ts').then(({ shortcuts }) => shortcuts),
  sequences: () => import('./arabic/sequences.ts').then(({ sequences }) => sequences),
  agents: () => import('./arabic/agents.ts').then(({ agents }) => agents),
  sessions: () => import('./arabic/sessions.ts').then(({ sessions }) => sessions),
  schedules: () => import('./arabic/schedules.ts').then(({ schedules }) => schedules),
  packs: () => import('./arabic/packs.ts').then(({ packs }) => packs),
  knowledge: () => import('./arabic/knowledge.ts').then(({ knowledge }) => knowledge),
  calls: () => import('./arabic/calls.ts').then(({ calls }) => calls),
  settings: () => import('./arabic/settings.ts').then(({ settings }) => settings),
  start: () => import('./arabic/start.ts').then(({ start }) => start),
};
