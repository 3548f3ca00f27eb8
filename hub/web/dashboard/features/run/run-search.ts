/** Parts of the inspector. `turns` exists only for steps of AI agents. */
export const inspectorTabs = ['result', 'turns', 'input', 'logs', 'attempts'] as const;
export type InspectorTab = (typeof inspectorTabs)[number];
export const runViews = ['logs', 'input', 'related'] as const;
/** Part of the page; without one, the steps. */
export type RunView = (typeof runViews)[number];

/** What is shown of a log: the lines with a text, or the place of a line. */
export interface LogPlace {
  q?: string | undefined;
  /** Id of the line that a reader jumped to. */
  line?: string | undefined;
}

/** What the address of a run page selects. */
export interface RunSearch extends LogPlace {
  /** Index of the selected step, from 0. */
  step?: number | undefined;
  tab?: InspectorTab | undefined;
  view?: RunView | undefined;
}

const oneOf = <Name extends string>(names: readonly Name[], value: unknown) => names.find((name) => name === value);

export function parseRunSearch({ step, tab, view, q, line }: Record<string, unknown>): RunSearch {
  return {
    step: Number.isInteger(step) && (step as number) >= 0 ? (step as number) : undefined,
    tab: oneOf(inspectorTabs, tab),
    view: oneOf(runViews, view),
    // The hub takes texts of up to 200 characters. A number in the address is a text, too.
    q: ['string', 'number'].includes(typeof q) && q !== '' ? String(q).slice(0, 200) : undefined,
    line: typeof line === 'string' && /^[0-9a-f-]{36}$/i.test(line) ? line : undefined,
  };
}
