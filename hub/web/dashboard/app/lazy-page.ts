import { lazyRouteComponent } from '@tanstack/react-router';
import type { Words } from '../texts/english.ts';
import { loadTexts } from './language.tsx';

/** A script of the page could not be loaded. */
export class MissingScript extends Error {
  /** True when an upgrade of the hub has replaced the script; false when the hub did not respond. */
  readonly isReplaced: boolean;

  constructor(cause: unknown, isReplaced: boolean) {
    super('A script of the page is missing.', { cause });
    this.name = 'MissingScript';
    this.isReplaced = isReplaced;
  }
}

const probeTimeoutMs = 5_000;

/** Whether the hub responds now. */
export const doesHubRespond = (): Promise<boolean> =>
  fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(probeTimeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Each browser has its own message. */
const isMissing = (error: unknown) =>
  error instanceof TypeError && /dynamically imported module|importing a module script/i.test(error.message);

/**
 * Loads a script. The router loads the page again by itself when it sees the error of the browser, and what the user
 * typed would be lost. `MissingScript` lets `PageError` keep it first.
 * @throws MissingScript
 */
export const loadScript = <Module>(load: () => Promise<Module>): Promise<Module> =>
  load().catch(async (error: unknown) => {
    throw isMissing(error) ? new MissingScript(error, await doesHubRespond()) : error;
  });

/** A part of a page whose script is loaded when the part is shown. */
export const lazyPart = <Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) => lazyRouteComponent(() => loadScript(load), name);

/** A page whose script and tables of texts are loaded together when the page is opened. */
export const lazyPage = <Module extends Record<string, unknown>, Name extends keyof Module>(
  tables: readonly (keyof Words)[],
  load: () => Promise<Module>,
  name: Name,
) => lazyPart(() => Promise.all([load(), loadTexts(tables)]).then(([module]) => module), name);
