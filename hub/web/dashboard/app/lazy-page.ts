import { lazyRouteComponent } from '@tanstack/react-router';
import type { Words } from '../texts/english.ts';
import { loadTexts } from './language.tsx';

/** A page whose script and tables of texts are loaded together when the page is opened. */
export const lazyPage = <Module extends Record<string, unknown>, Name extends keyof Module>(
  tables: readonly (keyof Words)[],
  load: () => Promise<Module>,
  name: Name,
) => lazyRouteComponent(() => Promise.all([load(), loadTexts(tables)]).then(([module]) => module), name);
