/** Parts of the inspector. `turns` exists only for steps of AI agents. */
export const inspectorTabs = ['result', 'turns', 'input', 'logs', 'attempts'] as const;
export type InspectorTab = (typeof inspectorTabs)[number];
export const runViews = ['logs', 'input', 'related'] as const;
/** Part of the page; without one, the steps. */
export type RunView = (typeof runViews)[number];

/** What the address of a run page selects. */
export interface RunSearch {
  /** Index of the selected step, from 0. */
  step?: number | undefined;
  tab?: InspectorTab | undefined;
  view?: RunView | undefined;
}

const oneOf = <Name extends string>(names: readonly Name[], value: unknown) => names.find((name) => name === value);

export function parseRunSearch({ step, tab, view }: Record<string, unknown>): RunSearch {
  return {
    step: Number.isInteger(step) && (step as number) >= 0 ? (step as number) : undefined,
    tab: oneOf(inspectorTabs, tab),
    view: oneOf(runViews, view),
  };
}
